// Numbers of any element type as tests write them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

namespace spillway::test {

/// Bytes of one element of a type spelled as in MLIR ("f32", "bf16", "i8").
int64_t elementBytes(std::string_view type);
/// Values rounded to nearest even (integers: wrapped) in a type's memory form, and back.
std::vector<std::byte> encode(std::string_view type, const std::vector<double> &values);
std::vector<double> decode(std::string_view type, const std::vector<std::byte> &bytes);
/// Multiples of 1/8 in [-2, 2]; whole numbers for integer types. All types hold them.
std::vector<double> smallValues(std::string_view type, int64_t count, std::mt19937 &random);
/// A chain step as kernels do it: fma in f64 for f64, in f32 for other floats.
double multiplyAdd(std::string_view type, double lhs, double rhs, double accumulator);

} // namespace spillway::test
