#include "tools/text.h"

#include "gtest/gtest.h"
#include "tools/prediction_text.h"
#include "tools/progress.h"
#include "tools/shell_line.h"

namespace tessera {
namespace {

TEST(TextTest, CountsAreReadInThousands) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(18446744073709551615u), "18,446,744,073,709,551,615");
}

TEST(TextTest, RatesHaveThreeDigits) {
  EXPECT_EQ(RateText(41317.2), "41,300 rows/s");
  EXPECT_EQ(RateText(7.6), "8 rows/s");
  EXPECT_EQ(RateText(0), "0 rows/s");
}

TEST(TextTest, TimesHaveTheirUnit) {
  EXPECT_EQ(TimeText(absl::Milliseconds(3210)), "3.2 s");
  EXPECT_EQ(TimeText(absl::Seconds(59.99)), "1 min 0 s");
  EXPECT_EQ(TimeText(absl::Seconds(250)), "4 min 10 s");
  EXPECT_EQ(TimeText(absl::Minutes(125)), "2 h 5 min");
  EXPECT_EQ(TimeText(-absl::Seconds(1)), "0.0 s");
}

TEST(TextTest, AScoreSaysWhatIsUndefined) {
  Score score;
  EXPECT_EQ(ScoreText(score), "no rows to score");
  score.set_rows(1234);
  score.set_logloss(0.5);
  EXPECT_EQ(ScoreText(score), "no AUC (rows of one class only), logloss 0.50000 on 1,234 rows");
  score.set_auc(0.75);
  EXPECT_EQ(ScoreText(score), "AUC 0.75000, logloss 0.50000 on 1,234 rows");
}

TEST(PredictionTextTest, KeptCellsComeFirstAndAreQuotedWhereTheyMustBe) {
  std::string out;
  AppendPrediction({"a", "b,c", "d\"e"}, 0.5f, &out);
  AppendPrediction({}, 0.1f, &out);
  EXPECT_EQ(out, "a,\"b,c\",\"d\"\"e\",0.5\n0.100000001\n");
}

TEST(ShellLineTest, WordsAreQuotedWhereAShellWouldChangeThem) {
  EXPECT_EQ(ShellLine({"tessera", "--set", "a.b=[1, 2]", "it's", ""}), "tessera --set 'a.b=[1, 2]' 'it'\\''s' ''");
}

Report Training() {
  Report report;
  report.set_state("training");
  report.set_epochs(1);
  report.set_epoch_rows(1000);
  report.set_epoch_rows_done(250);
  return report;
}

TEST(ProgressTest, SaysEpochPartRateLossAndTimeLeft) {
  Plan plan;
  plan.mutable_job()->mutable_training()->set_epochs(3);
  Report report = Training();
  report.set_train_logloss(0.25);
  EXPECT_EQ(ProgressText(report, plan, 100), "epoch 2 of at most 3, 25 %, 100 rows/s, logloss 0.25000, at most 17.5 s left");
}

TEST(ProgressTest, SaysNoMoreThanIsKnown) {
  Plan plan;
  plan.mutable_job()->mutable_training()->set_epochs(1);
  Report report = Training();
  report.set_epochs(0);
  report.clear_epoch_rows();
  EXPECT_EQ(ProgressText(report, plan, 0), "epoch 1");
  report.set_state("surveying");
  EXPECT_EQ(ProgressText(report, plan, 0), "surveying");
}

TEST(RateMeterTest, IsTheRowsOfTheLastSeconds) {
  RateMeter meter;
  const absl::Time start = absl::FromUnixSeconds(1000);
  meter.Add(start, 0);
  EXPECT_EQ(meter.rows_per_second(), 0);
  meter.Add(start + absl::Seconds(1), 100);
  EXPECT_EQ(meter.rows_per_second(), 100);
  for (int i = 2; i < 40; ++i) meter.Add(start + absl::Seconds(i), 100 + 300 * (i - 1));
  EXPECT_NEAR(meter.rows_per_second(), 300, 1);
}

}  // namespace
}  // namespace tessera
