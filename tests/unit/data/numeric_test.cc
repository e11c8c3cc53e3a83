#include "worker/data/numeric.h"

#include <cfloat>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include <gtest/gtest.h>

#include "common/random.h"

namespace tessera {
namespace {

std::optional<float> Parsed(std::string_view text) {
  float value = -77;
  if (!ParseNumber(text, &value)) return std::nullopt;
  return value;
}

TEST(ParseNumberTest, ReadsDecimalNumbers) {
  EXPECT_EQ(Parsed("0"), 0.0f);
  EXPECT_EQ(Parsed("007"), 7.0f);
  EXPECT_EQ(Parsed("9999999"), 9999999.0f);
  EXPECT_EQ(Parsed("123456789"), 123456789.0f);
  EXPECT_EQ(Parsed("18446744073709551615"), 18446744073709551615.0f);
  EXPECT_EQ(Parsed("-1"), -1.0f);
  EXPECT_EQ(Parsed("+2.5"), 2.5f);
  EXPECT_EQ(Parsed(".5"), 0.5f);
  EXPECT_EQ(Parsed("-.5"), -0.5f);
  EXPECT_EQ(Parsed("3."), 3.0f);
  EXPECT_EQ(Parsed("1.000000000000000000e+00"), 1.0f);
  EXPECT_EQ(Parsed("-6.399516463279724121E-01"), -6.399516463279724121E-01f);
  EXPECT_EQ(Parsed("1e30"), 1e30f);
}

TEST(ParseNumberTest, RefusesEverythingElse) {
  for (const char* text : {"", "-", "+", ".", "e5", "-e", "inf", "-inf", "+inf", "infinity", "nan", "NaN", "-nan", "+-1", "-+1", "--1", "1x",
                           "1 ", " 1", "0x10", "1,5", "1e", "1.5.2", "?"}) {
    EXPECT_EQ(Parsed(text), std::nullopt) << text;
  }
}

TEST(ParseNumberTest, ClampsWhatFloatCannotHold) {
  EXPECT_EQ(Parsed("1e300"), FLT_MAX);
  EXPECT_EQ(Parsed("-1e999"), -FLT_MAX);
  EXPECT_EQ(Parsed("+1e40"), FLT_MAX);
  EXPECT_EQ(Parsed("1e-400"), 0.0f);
  EXPECT_EQ(Parsed("-1e-400"), 0.0f);
}

TEST(SignedLogTest, IsFiniteAndOdd) {
  for (const float x : {0.0f, 1.0f, 2.0f, 3.0f, 1e6f, 1e30f, FLT_MAX, FLT_MIN}) {
    EXPECT_TRUE(std::isfinite(SignedLog(x)));
    EXPECT_EQ(SignedLog(-x), -SignedLog(x));
  }
  EXPECT_DOUBLE_EQ(SignedLog(-3), -std::log(4.0));
}

NumericStatistics WithEdges(const std::vector<float>& edges) {
  NumericStatistics statistics;
  for (const float edge : edges) statistics.add_edges(edge);
  return statistics;
}

TEST(BucketTest, CountsTheEdgesNotAboveTheValue) {
  RandomSequence random(5);
  for (int count = 0; count <= 67; ++count) {
    std::vector<float> edges;
    for (int i = 0; i < count; ++i) edges.push_back(static_cast<float>(i * 3) - 40);
    const NumericStatistics statistics = WithEdges(edges);
    for (int i = 0; i < 300; ++i) {
      const float x = static_cast<float>(random.Below(260)) - 60;
      const auto expected = static_cast<uint32_t>(std::upper_bound(edges.begin(), edges.end(), x) - edges.begin());
      ASSERT_EQ(BucketOf(statistics, x), expected) << count << " edges, " << x;
    }
  }
}

void ExpectAscending(const NumericStatistics& statistics) {
  for (int i = 1; i < statistics.edges_size(); ++i) EXPECT_LT(statistics.edges(i - 1), statistics.edges(i));
}

TEST(StatisticsTest, EqualNumbersOfRowsInEachBucket) {
  std::vector<float> values;
  RandomSequence random(1);
  for (int i = 0; i < 40000; ++i) values.push_back(UniformFloat(random.Next()) * 100 - 50);
  const NumericStatistics statistics = BuildStatistics(values);
  EXPECT_EQ(statistics.edges_size(), kBucketsDefault - 1);
  ExpectAscending(statistics);
  std::map<uint32_t, int> rows;
  for (const float value : values) ++rows[BucketOf(statistics, value)];
  for (const auto& [bucket_index, count] : rows) EXPECT_NEAR(count, 1000, 30) << bucket_index;
}

TEST(StatisticsTest, FewValuesHaveABucketEach) {
  const NumericStatistics statistics = BuildStatistics({5, 1, 1, 1, 3, 5, 1});
  EXPECT_EQ(std::vector<float>(statistics.edges().begin(), statistics.edges().end()), (std::vector<float>{3, 5}));
}

TEST(StatisticsTest, AFrequentValueTakesOneBucketAndLeavesTheRest) {
  std::vector<float> values(9000, 0.0f);
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i + 1));
  const NumericStatistics statistics = BuildStatistics(values, 11);
  EXPECT_EQ(statistics.edges_size(), 10);
  ExpectAscending(statistics);
  EXPECT_EQ(statistics.edges(0), 1);
  EXPECT_NE(BucketOf(statistics, 0), BucketOf(statistics, 1));
}

TEST(StatisticsTest, ConstantAndEmptyColumnsAreHarmless) {
  for (const float x : {0.0f, 5.3f, -1e6f, 1e30f, FLT_MAX}) {
    const NumericStatistics statistics = BuildStatistics(std::vector<float>(1000, x));
    EXPECT_EQ(statistics.edges_size(), 0);
    EXPECT_EQ(statistics.stddev(), 1);
    EXPECT_NEAR(ScaledValue(statistics, x), 0, 1e-5);
    EXPECT_EQ(ScaledValue(statistics, -FLT_MAX), x == -1e6f ? ScaledValue(statistics, -FLT_MAX) : -kScaledValueMax);
  }
  const NumericStatistics none = BuildStatistics({});
  EXPECT_EQ(none.edges_size(), 0);
  EXPECT_EQ(none.stddev(), 1);
  EXPECT_EQ(BuildStatistics({1, 2, 3, 4}, 1).edges_size(), 0);
}

TEST(StatisticsTest, EveryTreatmentOfEveryNumberIsFinite) {
  const NumericStatistics statistics = BuildStatistics({-1, -2, -3, -1000000, 1e30f, FLT_MAX, -FLT_MAX, 0, FLT_MIN});
  ExpectAscending(statistics);
  EXPECT_GT(statistics.stddev(), 0);
  for (const float x : {-1.0f, -2.0f, -3.0f, -1e6f, 1e30f, FLT_MAX, -FLT_MAX, 0.0f}) {
    const float z = ScaledValue(statistics, x);
    EXPECT_LE(std::fabs(z), kScaledValueMax);
    EXPECT_LE(BucketOf(statistics, x), static_cast<uint32_t>(statistics.edges_size()));
  }
}

TEST(StatisticsTest, OrderOfValuesDoesNotMatterToEdges) {
  const NumericStatistics a = BuildStatistics({9, 4, 7, 1, 4, 2, 8, 8, 3}, 4);
  const NumericStatistics b = BuildStatistics({1, 2, 3, 4, 4, 7, 8, 8, 9}, 4);
  EXPECT_EQ(a.edges_size(), 3);
  for (int i = 0; i < a.edges_size(); ++i) EXPECT_EQ(a.edges(i), b.edges(i));
}

}  // namespace
}  // namespace tessera
