// What operators on quantised integers have in common: real = (integer - zero point) * scale.
#pragma once

#include "spillway/Conversion/OnnxToNN/Node.h"

#include <cmath>

namespace spillway {

/// A type of quantised integers.
struct Levels {
  DataType type = DataType::u8;
  /// Bits of the integers where they have fewer than the type, else 0.
  uint8_t bits = 0;

  unsigned width() const { return bits ? bits : static_cast<unsigned>(byteWidth(type)) * 8; }
  double lowest() const { return isUnsigned(type) ? 0 : -std::ldexp(1, width() - 1); }
  double highest() const { return std::ldexp(1, width() - !isUnsigned(type)) - 1; }
};

inline Levels levelsOf(Tensor x) { return {x.type, x.bits}; }

/// What numbers in f32 that have been divided by their scale become. Halves go to even.
Tensor toLevels(Emitter &emit, Tensor x, std::optional<Tensor> zero, Levels levels);
/// A zero point that changes nothing need not be subtracted.
bool isZero(Emitter &emit, Tensor x);

/// The zero point, where it is given, must have the integers' type.
mlir::LogicalResult checkZeroPoint(Node &node, unsigned x, unsigned zero);
/// Inputs must hold bytes.
mlir::LogicalResult checkIntegers(Node &node, llvm::ArrayRef<unsigned> inputs);

} // namespace spillway
