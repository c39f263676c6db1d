#include "runtime/base/SmallFloat.h"
#include "spillway/StateSource/StateSource.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

using namespace mlir;
using namespace spillway;

namespace {

/// A state of i32 whose elements lie as varints in a file, behind five other bytes.
class VarintStateTest : public testing::Test {
protected:
  VarintStateTest() {
    context.loadDialect<zero::ZeroDialect>();
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      diagnostics += diagnostic.str() + "\n";
      return success();
    });
    for (int64_t i = 0; i < 100000; ++i)
      elements.push_back(static_cast<int32_t>((i * 2654435761u) >> (i % 32)) - 1000);
    for (int32_t element : elements)
      append(encoded, static_cast<uint64_t>(static_cast<int64_t>(element)));
  }

  static void append(std::string &bytes, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      bytes.push_back(static_cast<char>(value | 0x80));
    bytes.push_back(static_cast<char>(value));
  }

  std::unique_ptr<StateSource> open() {
    std::string folder = testing::TempDir();
    std::ofstream(folder + "/varints.bin", std::ios::binary) << "other" << encoded;
    std::string text = "zero.state @w \"w\" : tensor<" + std::to_string(elements.size()) +
                       "xi32> role(<parameter>) source(#zero.file<\"varints.bin\", 5, " +
                       std::to_string(encoded.size()) + ", varint = true>)";
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return nullptr;
    auto source = StateSource::open(*module->getOps<zero::StateOp>().begin(), folder);
    return succeeded(source) ? std::move(*source) : nullptr;
  }

  /// Reads `count` bytes from `offset` on and compares.
  void expect(StateSource &source, size_t offset, size_t count) {
    std::vector<char> bytes(count);
    ASSERT_TRUE(succeeded(source.read(offset, bytes))) << diagnostics;
    EXPECT_EQ(std::memcmp(bytes.data(), reinterpret_cast<const char *>(elements.data()) + offset, count), 0)
        << offset << " " << count;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string diagnostics, encoded;
  std::vector<int32_t> elements;
};

} // namespace

TEST_F(VarintStateTest, readsInAnyOrderAndCut) {
  std::unique_ptr<StateSource> source = open();
  ASSERT_TRUE(source) << diagnostics;
  size_t bytes = elements.size() * sizeof(int32_t);
  expect(*source, 0, bytes);
  for (size_t at = 0; at < bytes; at += 4099)
    expect(*source, at, std::min<size_t>(4099, bytes - at));
  expect(*source, 262141, 7);
  expect(*source, 3, 0);
  expect(*source, 1, 2);
  expect(*source, bytes - 1, 1);
}

TEST_F(VarintStateTest, anyNumberButZeroIsTrue) {
  std::string folder = testing::TempDir(), varints, raw("\0\1\2\377", 4);
  for (uint64_t element : {uint64_t(0), uint64_t(1), uint64_t(256), ~uint64_t(0)})
    append(varints, element);
  std::ofstream(folder + "/bools.bin", std::ios::binary) << raw << varints;
  for (std::string extent : {std::string("0, 4"), "4, " + std::to_string(varints.size()) + ", varint = true"}) {
    module = parseSourceString<ModuleOp>(
        "zero.state @w \"w\" : tensor<4xi1> role(<parameter>) source(#zero.file<\"bools.bin\", " + extent + ">)",
        &context);
    ASSERT_TRUE(module) << diagnostics;
    auto source = StateSource::open(*module->getOps<zero::StateOp>().begin(), folder);
    ASSERT_TRUE(succeeded(source)) << diagnostics;
    std::vector<char> bytes(4);
    ASSERT_TRUE(succeeded((*source)->read(0, bytes))) << diagnostics;
    EXPECT_EQ(bytes, (std::vector<char>{0, 1, 1, 1})) << extent;
  }
}

TEST_F(VarintStateTest, refusesTooFewAndTooMany) {
  std::vector<char> bytes(elements.size() * sizeof(int32_t));
  encoded.pop_back();
  std::unique_ptr<StateSource> source = open();
  ASSERT_TRUE(source) << diagnostics;
  EXPECT_TRUE(failed(source->read(0, bytes)));
  EXPECT_NE(diagnostics.find("element 99999 of 100000"), std::string::npos) << diagnostics;

  append(encoded, 0);
  encoded += std::string("\1\1");
  source = open();
  ASSERT_TRUE(source) << diagnostics;
  EXPECT_TRUE(failed(source->read(0, bytes)));
  EXPECT_NE(diagnostics.find("more than 100000 elements"), std::string::npos) << diagnostics;
}

TEST(RoundedState, readsInAnyOrderAndCut) {
  MLIRContext context;
  context.loadDialect<zero::ZeroDialect>();
  std::string folder = testing::TempDir();
  std::vector<float> exact(100000);
  std::vector<uint16_t> rounded;
  for (auto [i, value] : llvm::enumerate(exact)) {
    value = static_cast<float>(i) / 777 - 50;
    rounded.push_back(bfloat16FromDouble(value));
  }
  std::ofstream(folder + "/exact.bin", std::ios::binary)
      .write(reinterpret_cast<const char *>(exact.data()), exact.size() * sizeof(float));
  auto module = parseSourceString<ModuleOp>(
      "zero.state @w \"w.bf16\" : tensor<100000xbf16> role(<twin>) "
      "source(#zero.rounded<#zero.file<\"exact.bin\", 0, 400000>>)",
      &context);
  ASSERT_TRUE(module);
  auto source = StateSource::open(*module->getOps<zero::StateOp>().begin(), folder);
  ASSERT_TRUE(succeeded(source));
  size_t bytes = rounded.size() * sizeof(uint16_t);
  for (auto [offset, count] : {std::pair<size_t, size_t>(0, bytes), {131071, 5}, {131072, 4}, {3, 0}, {1, 2}, {bytes - 1, 1}, {7, 150000}}) {
    std::vector<char> read(count);
    ASSERT_TRUE(succeeded((*source)->read(offset, read)));
    EXPECT_EQ(std::memcmp(read.data(), reinterpret_cast<const char *>(rounded.data()) + offset, count), 0)
        << offset << " " << count;
  }
}
