#include "test/Unit/Kernels/Numbers.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/APInt.h"

#include <cmath>
#include <cstring>

using namespace spillway;

namespace {

/// Null for integers.
const llvm::fltSemantics *semantics(std::string_view type) {
  if (type == "f64")
    return &llvm::APFloat::IEEEdouble();
  if (type == "f32")
    return &llvm::APFloat::IEEEsingle();
  if (type == "f16")
    return &llvm::APFloat::IEEEhalf();
  if (type == "bf16")
    return &llvm::APFloat::BFloat();
  return nullptr;
}

} // namespace

int64_t test::elementBytes(std::string_view type) {
  int64_t bits = std::stoi(std::string(type.substr(type.find_first_of("0123456789"))));
  return (bits + 7) / 8;
}

std::vector<std::byte> test::encode(std::string_view type, const std::vector<double> &values) {
  int64_t size = elementBytes(type);
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits;
    if (const llvm::fltSemantics *format = semantics(type)) {
      llvm::APFloat number(values[i]);
      bool inexact;
      number.convert(*format, llvm::APFloat::rmNearestTiesToEven, &inexact);
      bits = number.bitcastToAPInt().getZExtValue();
    } else {
      bits = static_cast<uint64_t>(static_cast<int64_t>(values[i]));
    }
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

std::vector<double> test::decode(std::string_view type, const std::vector<std::byte> &bytes) {
  int64_t size = elementBytes(type);
  std::vector<double> values(bytes.size() / size);
  for (size_t i = 0; i < values.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    llvm::APInt integer(static_cast<unsigned>(size) * 8, bits);
    if (const llvm::fltSemantics *format = semantics(type)) {
      llvm::APFloat number(*format, integer);
      bool inexact;
      number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &inexact);
      values[i] = number.convertToDouble();
    } else {
      values[i] = static_cast<double>(integer.getSExtValue());
    }
  }
  return values;
}

std::vector<double> test::smallValues(std::string_view type, int64_t count, std::mt19937 &random) {
  std::uniform_int_distribution<int> eighths(-16, 16);
  std::vector<double> values(count);
  for (double &value : values)
    value = semantics(type) ? eighths(random) / 8.0 : eighths(random) / 4;
  return values;
}

double test::multiplyAdd(std::string_view type, double lhs, double rhs, double accumulator) {
  if (type == "f64")
    return std::fma(lhs, rhs, accumulator);
  if (semantics(type))
    return std::fmaf(static_cast<float>(lhs), static_cast<float>(rhs),
                     static_cast<float>(accumulator));
  return lhs * rhs + accumulator;
}
