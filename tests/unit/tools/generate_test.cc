#include "tools/generate.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_split.h"
#include "common/feature_id.h"
#include "gtest/gtest.h"
#include "tools/zipf.h"

namespace tessera {
namespace {

std::string Generate(const GenerateOptions& options, int threads, GenerateSummary* score) {
  ThreadPool pool(threads);
  std::string text;
  const ClickLog log(options, &pool);
  EXPECT_TRUE(log.Write([&](absl::string_view lines) { return text.append(lines.data(), lines.size()), absl::OkStatus(); }, score).ok());
  return text;
}

TEST(ClickLogTest, AnyNumberOfThreadsGivesTheSameBytes) {
  GenerateSummary one, three;
  const GenerateOptions options{.rows = 20001};
  EXPECT_EQ(Generate(options, 1, &one), Generate(options, 3, &three));
  EXPECT_EQ(one.best.SerializeAsString(), three.best.SerializeAsString());
  EXPECT_EQ(one.clicks, three.clicks);
}

TEST(ClickLogTest, TheLogGoesOnWhereTheFirstPartEnded) {
  GenerateSummary score;
  const std::string whole = Generate({.rows = 9000}, 1, &score);
  EXPECT_EQ(whole, Generate({.rows = 5001}, 1, &score) + Generate({.skip = 5001, .rows = 3999}, 1, &score));
}

TEST(ClickLogTest, EveryLineHasALabelThirteenIntegersAndTwentySixHexTokens) {
  GenerateSummary score;
  const std::string text = Generate({.rows = 500}, 1, &score);
  size_t missing = 0, lines = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    ++lines;
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    ASSERT_EQ(cells.size(), 40u);
    EXPECT_TRUE(cells[0] == "0" || cells[0] == "1");
    for (size_t i = 1; i < cells.size(); ++i) {
      missing += cells[i].empty();
      const absl::string_view digits = i < 14 ? "0123456789" : "0123456789abcdef";
      EXPECT_EQ(cells[i].find_first_not_of(std::string(digits)), std::string::npos) << line;
      if (i >= 14 && !cells[i].empty()) {
        EXPECT_EQ(cells[i].size(), 8u);
      }
    }
  }
  EXPECT_EQ(lines, 500u);
  EXPECT_GT(missing, 500u);
}

TEST(ClickLogTest, TheClickRateIsTheOneAskedForAndThePlantedModelKnowsIt) {
  GenerateSummary score;
  const std::string text = Generate({.rows = 40000, .click_rate = 0.1}, 2, &score);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 40000);
  EXPECT_EQ(score.best.rows(), 40000u);
  EXPECT_NEAR(static_cast<double>(score.clicks), 4000, 400);
  EXPECT_NEAR(score.best.calibration(), 1, 0.05);
  EXPECT_GT(score.best.auc(), 0.7);
  EXPECT_LT(score.best.auc(), 0.95);
}

TEST(ClickLogTest, ASeedIsAWorldOfItsOwn) {
  GenerateSummary score;
  EXPECT_NE(Generate({.seed = 1, .rows = 10}, 1, &score), Generate({.seed = 2, .rows = 10}, 1, &score));
}

TEST(ClickLogTest, NoRowsAreNoScore) {
  GenerateSummary score;
  EXPECT_EQ(Generate({.rows = 0}, 1, &score), "");
  EXPECT_FALSE(score.best.has_auc());
}

TEST(ClickLogTest, AnErrorOfTheWriterEndsTheLog) {
  ThreadPool pool(1);
  GenerateSummary score;
  const ClickLog log({.rows = 100000}, &pool);
  int calls = 0;
  const absl::Status status = log.Write([&](absl::string_view) { return ++calls, absl::ResourceExhaustedError("disk full"); }, &score);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(calls, 1);
}

TEST(ZipfTest, FrequenciesFollowTheLaw) {
  const Zipf zipf(50, 1.05);
  RandomSequence random(3);
  std::vector<double> counts(51);
  constexpr int kDraws = 400000;
  for (int i = 0; i < kDraws; ++i) {
    const uint32_t k = zipf.Draw(&random);
    ASSERT_GE(k, 1u);
    ASSERT_LE(k, 50u);
    counts[k] += 1;
  }
  double sum = 0;
  for (int k = 1; k <= 50; ++k) sum += std::pow(k, -1.05);
  for (int k : {1, 2, 3, 10, 50}) {
    const double expected = kDraws * std::pow(k, -1.05) / sum;
    EXPECT_NEAR(counts[k], expected, 5 * std::sqrt(expected)) << k;
  }
}

TEST(ZipfTest, OneElementIsAlwaysTheFirst) {
  RandomSequence random(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Zipf(1, 1.05).Draw(&random), 1u);
}

}  // namespace
}  // namespace tessera
