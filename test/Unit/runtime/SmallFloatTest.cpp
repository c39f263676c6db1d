#include "runtime/base/SmallFloat.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

using namespace spillway;

namespace {

struct Codec {
  float (*decode)(uint16_t);
  uint16_t (*encode)(long double);
  uint16_t infinity;
};

class SmallFloat : public testing::TestWithParam<Codec> {};

TEST_P(SmallFloat, everyValueSurvives) {
  auto [decode, encode, infinity] = GetParam();
  for (int bits = 0; bits < 0x10000; ++bits) {
    float value = decode(static_cast<uint16_t>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(decode(encode(value))));
    else
      EXPECT_EQ(encode(value), bits);
  }
}

TEST_P(SmallFloat, roundsToNearestEven) {
  auto [decode, encode, infinity] = GetParam();
  for (int bits = 0; bits + 1 < infinity; ++bits) {
    double low = decode(static_cast<uint16_t>(bits)), high = decode(static_cast<uint16_t>(bits + 1));
    double middle = (low + high) / 2;
    EXPECT_EQ(encode(middle), bits + (bits & 1));
    EXPECT_EQ(encode(std::nextafter(middle, low)), bits);
    EXPECT_EQ(encode(std::nextafter(middle, high)), bits + 1);
    EXPECT_EQ(encode(-middle), encode(middle) | 0x8000);
  }
}

TEST_P(SmallFloat, overflowsToInfinity) {
  auto [decode, encode, infinity] = GetParam();
  double largest = decode(infinity - 1), step = largest - decode(infinity - 2);
  EXPECT_EQ(encode(largest + step / 2), infinity);
  EXPECT_EQ(encode(std::nextafter(largest + step / 2, 0)), infinity - 1);
  EXPECT_EQ(encode(1e300), infinity);
  EXPECT_EQ(encode(-std::numeric_limits<double>::infinity()), infinity | 0x8000);
  EXPECT_EQ(encode(5e-324), 0);
}

INSTANTIATE_TEST_SUITE_P(Formats, SmallFloat,
                         testing::Values(Codec{halfToFloat, halfFromDouble, 0x7c00},
                                         Codec{bfloat16ToFloat, bfloat16FromDouble, 0x7f80}),
                         [](const auto &info) { return info.index ? "bfloat16" : "half"; });

TEST(SmallFloat, roundsFloatsAsDoubles) {
  // All upper halves, with lower ones below, at and above the middle.
  for (uint32_t high = 0; high < 0x10000; ++high)
    for (uint32_t low : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
      float value = std::bit_cast<float>(high << 16 | low);
      EXPECT_EQ(bfloat16FromFloat(value), bfloat16FromDouble(value)) << high << " " << low;
    }
}

TEST(SmallFloat, agreesWithKnownBits) {
  EXPECT_EQ(halfToFloat(0x3c00), 1.0f);
  EXPECT_EQ(halfToFloat(0xc500), -5.0f);
  EXPECT_EQ(halfToFloat(0x0001), 0x1p-24f);
  EXPECT_EQ(bfloat16ToFloat(0x3f80), 1.0f);
  EXPECT_EQ(bfloat16FromDouble(3.14159), 0x4049);
}

} // namespace
