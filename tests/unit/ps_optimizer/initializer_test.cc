#include "ps/optimizer/initializer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr InitialDistribution kNormal = {InitialDistribution::kNormal, 1.0f};
constexpr InitialDistribution kUniform = {InitialDistribution::kUniform, 0.5f};

std::vector<float> Values(const InitialDistribution& distribution, uint64_t key, uint64_t first, size_t count) {
  std::vector<float> values(count);
  InitialValues(distribution, key, first, absl::MakeSpan(values));
  return values;
}

// Checkpoints hold only rows that were trained; the others come from here. Other numbers would be another model.
TEST(InitialValuesTest, AreTheAgreedOnes) {
  const uint64_t row = InitialRowKey(InitialKey(7, "rows"), 42);
  const std::vector<float> normal = Values(kNormal, row, 0, 3);
  EXPECT_FLOAT_EQ(normal[0], -0.10436822f);
  EXPECT_FLOAT_EQ(normal[1], -0.37462422f);
  EXPECT_FLOAT_EQ(normal[2], 0.38615671f);
  EXPECT_FLOAT_EQ(Values(kUniform, row, 0, 1)[0], 0.13283896f);
}

TEST(InitialValuesTest, ElementsDoNotDependOnTheRunTheyArePartOf) {
  for (const InitialDistribution& distribution : {kNormal, kUniform}) {
    const std::vector<float> all = Values(distribution, 99, 0, 200);
    for (size_t first : {0u, 1u, 15u, 16u, 17u, 100u}) {
      for (size_t count : {1u, 2u, 16u, 17u, 90u}) {
        const std::vector<float> part = Values(distribution, 99, first, count);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + first)) << first << "+" << count;
      }
    }
  }
}

TEST(InitialValuesTest, DependOnSeedNameAndId) {
  const std::vector<float> values = Values(kNormal, InitialRowKey(InitialKey(7, "rows"), 1), 0, 8);
  EXPECT_NE(values, Values(kNormal, InitialRowKey(InitialKey(8, "rows"), 1), 0, 8));
  EXPECT_NE(values, Values(kNormal, InitialRowKey(InitialKey(7, "other"), 1), 0, 8));
  EXPECT_NE(values, Values(kNormal, InitialRowKey(InitialKey(7, "rows"), 2), 0, 8));
}

TEST(InitialValuesTest, NormalHasTheMomentsAndQuantilesOfANormal) {
  std::vector<float> values = Values(kNormal, 12345, 0, 200000);
  double sum = 0, square = 0, fourth = 0;
  for (double v : values) sum += v, square += v * v, fourth += v * v * v * v;
  const double n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(square / n, 1, 0.015);
  EXPECT_NEAR(fourth / n, 3, 0.1);
  std::sort(values.begin(), values.end());
  EXPECT_NEAR(values[values.size() / 2], 0, 0.01);
  EXPECT_NEAR(values[static_cast<size_t>(n * 0.975)], 1.95996, 0.025);
  EXPECT_NEAR(values[static_cast<size_t>(n * 0.0013499)], -3, 0.1);
  EXPECT_LT(values.back(), 5.8f);
}

TEST(InitialValuesTest, NormalScalesWithItsStandardDeviation) {
  const std::vector<float> unit = Values(kNormal, 5, 0, 50);
  const std::vector<float> small = Values({InitialDistribution::kNormal, 0.01f}, 5, 0, 50);
  for (size_t i = 0; i < unit.size(); ++i) EXPECT_FLOAT_EQ(small[i], 0.01f * unit[i]);
}

TEST(InitialValuesTest, NeighboursAreNotCorrelated) {
  const std::vector<float> values = Values(kNormal, 777, 0, 100001);
  double next = 0;
  for (size_t i = 0; i + 1 < values.size(); ++i) next += values[i] * values[i + 1];
  EXPECT_NEAR(next / 100000, 0, 0.015);
  double rows = 0;  // the same element of rows with neighbouring ids
  const uint64_t table = InitialKey(1, "t");
  for (uint64_t id = 0; id < 20000; ++id) {
    rows += Values(kNormal, InitialRowKey(table, id), 3, 1)[0] * Values(kNormal, InitialRowKey(table, id + 1), 3, 1)[0];
  }
  EXPECT_NEAR(rows / 20000, 0, 0.035);
}

TEST(InitialValuesTest, UniformFillsItsRange) {
  const std::vector<float> values = Values(kUniform, 31, 0, 100000);
  EXPECT_THAT(values, Each(::testing::AllOf(::testing::Ge(-0.5f), ::testing::Lt(0.5f))));
  double sum = 0;
  for (float v : values) sum += v;
  EXPECT_NEAR(sum / 100000, 0, 0.005);
  EXPECT_LT(*std::min_element(values.begin(), values.end()), -0.499f);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), 0.499f);
}

TEST(InitialValuesTest, ConstantIsExact) {
  EXPECT_THAT(Values({InitialDistribution::kConstant, -1.5f}, 3, 7, 40), Each(-1.5f));
  EXPECT_THAT(Values({InitialDistribution::kNormal, 0.0f}, 3, 7, 40), Each(0.0f));
}

TEST(MakeDistributionTest, RefusesWhatIsNoDistribution) {
  Initializer spec;
  EXPECT_THAT(MakeDistribution(spec, "variable out.bias").status().message(), HasSubstr("variable out.bias: has no initializer"));
  spec.set_normal_stddev(-1);
  EXPECT_EQ(MakeDistribution(spec, "x").status().code(), absl::StatusCode::kInvalidArgument);
  spec.set_constant(std::numeric_limits<float>::infinity());
  EXPECT_EQ(MakeDistribution(spec, "x").status().code(), absl::StatusCode::kInvalidArgument);
  spec.set_constant(-1);
  EXPECT_EQ(MakeDistribution(spec, "x").value().parameter, -1);
}

}  // namespace
}  // namespace tessera
