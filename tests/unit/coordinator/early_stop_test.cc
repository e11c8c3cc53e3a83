#include "ps/coordinator/early_stop.h"

#include "gtest/gtest.h"

namespace tessera {
namespace {

Score WithAuc(double value) {
  Score score;
  score.set_rows(10);
  score.set_auc(value);
  score.set_logloss(1 - value);
  return score;
}

TrainingState After(Metric monitor, const std::vector<Score>& scores) {
  TrainingState state;
  for (size_t i = 0; i < scores.size(); ++i) {
    EvaluationReport evaluation;
    *evaluation.mutable_score() = scores[i];
    evaluation.set_checkpoint("step-" + std::to_string(i));
    AddEvaluation(monitor, evaluation, &state);
  }
  return state;
}

TEST(EarlyStopTest, AHigherAucOrALowerLoglossIsAGain) {
  for (const Metric monitor : {auc, logloss}) {
    EXPECT_TRUE(IsGain(monitor, WithAuc(0.8), WithAuc(0.7)));
    EXPECT_FALSE(IsGain(monitor, WithAuc(0.7), WithAuc(0.8)));
    EXPECT_FALSE(IsGain(monitor, WithAuc(0.7), WithAuc(0.7)));
  }
}

TEST(EarlyStopTest, AChangeOfOneMillionthIsNoGain) {
  EXPECT_FALSE(IsGain(auc, WithAuc(0.7000005), WithAuc(0.7)));
  EXPECT_TRUE(IsGain(auc, WithAuc(0.700002), WithAuc(0.7)));
}

TEST(EarlyStopTest, TheBestIsRememberedAndPatienceCountsFromIt) {
  Evaluation policy;
  policy.set_patience(2);
  TrainingState state = After(auc, {WithAuc(0.7), WithAuc(0.8), WithAuc(0.75)});
  EXPECT_EQ(state.report().best(), 1);
  EXPECT_EQ(state.best_checkpoint(), "step-1");
  EXPECT_FALSE(OutOfPatience(policy, state));
  state = After(auc, {WithAuc(0.7), WithAuc(0.8), WithAuc(0.75), WithAuc(0.79)});
  EXPECT_TRUE(OutOfPatience(policy, state));
  state = After(auc, {WithAuc(0.7), WithAuc(0.8), WithAuc(0.75), WithAuc(0.81)});
  EXPECT_FALSE(OutOfPatience(policy, state));
  EXPECT_EQ(state.best_checkpoint(), "step-3");
}

TEST(EarlyStopTest, WithoutRowsNothingStopsAndTheNewestIsBest) {
  Evaluation policy;
  policy.set_patience(1);
  const TrainingState state = After(auc, {Score(), Score(), Score()});
  EXPECT_EQ(state.report().best(), 2);
  EXPECT_EQ(state.best_checkpoint(), "step-2");
  EXPECT_FALSE(OutOfPatience(policy, state));
}

TEST(EarlyStopTest, APatienceOfZeroNeverRunsOut) {
  Evaluation policy;
  policy.set_patience(0);
  EXPECT_FALSE(OutOfPatience(policy, After(auc, {WithAuc(0.8), WithAuc(0.7), WithAuc(0.6)})));
}

}  // namespace
}  // namespace tessera
