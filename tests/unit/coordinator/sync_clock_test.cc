#include "ps/coordinator/sync_clock.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/three_members.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Plan MakePlan(uint32_t shares, uint32_t batch_size) {
  Plan plan;
  plan.mutable_job()->mutable_training()->set_shares(shares);
  plan.mutable_job()->mutable_training()->set_batch_size(batch_size);
  plan.mutable_job()->mutable_optimizers()->mutable_sparse()->mutable_adagrad()->set_learning_rate(0.02);
  plan.mutable_job()->mutable_optimizers()->mutable_dense()->mutable_adam()->set_learning_rate(0.001);
  return plan;
}

ShareDone Done(uint64_t step, uint32_t share, uint64_t rows, uint64_t position, bool end, double loss = 1) {
  ShareDone done;
  done.set_step(step);
  done.set_share(share);
  done.set_rows(rows);
  done.set_loss(loss);
  done.mutable_position()->set_row(position);
  done.mutable_position()->set_end(end);
  return done;
}

TEST(SyncClockTest, ABatchIsCutIntoNearlyEqualShares) {
  const Decision start = FirstDecision(*StepRulesOf(MakePlan(3, 8)), 4, {kFirst, kSecond});
  ASSERT_EQ(start.assignment_size(), 3);
  EXPECT_EQ(start.incarnation(), 4);
  EXPECT_EQ(start.step(), 0);
  EXPECT_EQ(start.assignment(0).rows_max(), 3);
  EXPECT_EQ(start.assignment(1).rows_max(), 3);
  EXPECT_EQ(start.assignment(2).rows_max(), 2);
  EXPECT_EQ(start.assignment(0).worker(), 1);
  EXPECT_EQ(start.assignment(1).worker(), 2);
  EXPECT_EQ(start.assignment(2).worker(), 1);
}

TEST(SyncClockTest, ABatchSmallerThanItsSharesIsRefusedByKey) {
  const absl::Status status = StepRulesOf(MakePlan(6, 4)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("training.batch_size: 4"));
  EXPECT_TRUE(absl::IsInvalidArgument(StepRulesOf(MakePlan(0, 4)).status()));
}

TEST(SyncClockTest, AStepIsDecidedOnceEveryNonEmptyShareIsDone) {
  const StepRules rules = *StepRulesOf(MakePlan(2, 8));
  SyncClock clock(rules, FirstDecision(rules, 1, {kFirst, kSecond}));
  EXPECT_TRUE(*clock.Add(Done(1, 1, 4, 4, true, 0.25), kSecond));
  EXPECT_FALSE(clock.Complete());
  EXPECT_EQ(clock.Awaited(), std::vector<Member>{kFirst});
  EXPECT_TRUE(*clock.Add(Done(1, 0, 4, 4, false, 0.5), kFirst));
  ASSERT_TRUE(clock.Complete());
  SyncClock::Outcome outcome = clock.Decide({kFirst, kSecond});
  EXPECT_EQ(outcome.rows, 8);
  EXPECT_EQ(outcome.loss, 0.75);
  EXPECT_FALSE(outcome.epoch_over);
  const Decision& d = outcome.decision;
  EXPECT_EQ(d.step(), 1);
  EXPECT_EQ(d.optimizer_step(), 1);
  EXPECT_EQ(d.rows(), 8);
  EXPECT_EQ(d.sparse_learning_rate(), 0.02);
  EXPECT_EQ(d.dense_learning_rate(), 0.001);
  ASSERT_EQ(d.winners_size(), 2);
  EXPECT_EQ(d.winners(1).worker(), 2);
  EXPECT_EQ(d.assignment(0).position().row(), 4);
  EXPECT_TRUE(d.assignment(1).position().end());

  // Share 1 has no row left: step 2 is share 0's alone.
  clock.Advance(d);
  EXPECT_TRUE(clock.Open(kSecond).empty());
  EXPECT_TRUE(*clock.Add(Done(2, 0, 1, 5, true), kFirst));
  ASSERT_TRUE(clock.Complete());
  outcome = clock.Decide({kFirst, kSecond});
  EXPECT_EQ(outcome.rows, 1);
  EXPECT_EQ(outcome.decision.winners_size(), 1);
  EXPECT_TRUE(outcome.epoch_over);
  EXPECT_EQ(outcome.decision.epoch(), 1);
  for (const Assignment& assignment : outcome.decision.assignment()) {
    EXPECT_EQ(assignment.position().epoch(), 1);
    EXPECT_EQ(assignment.position().row(), 0);
    EXPECT_FALSE(assignment.position().end());
  }
}

TEST(SyncClockTest, AShareWithoutRowsIsNoWinner) {
  const StepRules rules = *StepRulesOf(MakePlan(2, 8));
  SyncClock clock(rules, FirstDecision(rules, 1, {kFirst}));
  EXPECT_TRUE(*clock.Add(Done(1, 0, 3, 3, true), kFirst));
  EXPECT_TRUE(*clock.Add(Done(1, 1, 0, 0, true), kFirst));
  const SyncClock::Outcome outcome = clock.Decide({kFirst});
  ASSERT_EQ(outcome.decision.winners_size(), 1);
  EXPECT_EQ(outcome.decision.winners(0).share(), 0);
  EXPECT_TRUE(outcome.epoch_over);
}

TEST(SyncClockTest, TheFirstReportOfAShareWins) {
  const StepRules rules = *StepRulesOf(MakePlan(2, 8));
  SyncClock clock(rules, FirstDecision(rules, 1, {kFirst}));
  EXPECT_TRUE(*clock.Add(Done(1, 0, 4, 4, false), kFirst));
  EXPECT_FALSE(*clock.Add(Done(1, 0, 2, 2, true), kSecond));
  EXPECT_TRUE(*clock.Add(Done(1, 1, 4, 4, false), kFirst));
  const SyncClock::Outcome outcome = clock.Decide({kFirst});
  EXPECT_EQ(outcome.decision.winners(0).worker(), 1);
  EXPECT_EQ(outcome.decision.winners(0).rows(), 4);
  clock.Advance(outcome.decision);
  EXPECT_FALSE(*clock.Add(Done(1, 1, 4, 4, false), kFirst));  // repeated after its step was decided
  EXPECT_EQ(clock.Open(kFirst).size(), 2);
}

TEST(SyncClockTest, ReportsThatCannotBeTrueAreRefused) {
  const StepRules rules = *StepRulesOf(MakePlan(2, 8));
  SyncClock clock(rules, FirstDecision(rules, 1, {kFirst}));
  for (const ShareDone& done : {Done(2, 0, 4, 4, false), Done(1, 2, 4, 4, false), Done(1, 0, 5, 5, false), Done(1, 0, 0, 0, false),
                                Done(1, 0, 4, 4, false, std::numeric_limits<double>::quiet_NaN())}) {
    EXPECT_TRUE(absl::IsInvalidArgument(clock.Add(done, kFirst).status())) << done.ShortDebugString();
  }
  EXPECT_FALSE(clock.Complete());
}

TEST(SyncClockTest, ARestoredDecisionKeepsPositionsAndHandsSharesToWhoIsThere) {
  const StepRules rules = *StepRulesOf(MakePlan(3, 9));
  Decision saved = FirstDecision(rules, 1, {kFirst, kSecond});
  saved.set_step(7);
  saved.set_evaluate(true);
  saved.set_cut(true);
  saved.mutable_assignment(2)->mutable_position()->set_offset(5);
  const Decision restored = RestoredDecision(saved, 2, {kFirst, kSecond, kThird});
  EXPECT_EQ(restored.step(), 7);
  EXPECT_EQ(restored.incarnation(), 2);
  EXPECT_FALSE(restored.evaluate() || restored.cut() || restored.stop());
  EXPECT_EQ(restored.assignment(2).worker(), 3);
  EXPECT_EQ(restored.assignment(2).position().offset(), 5);
  EXPECT_EQ(restored.assignment(2).rows_max(), 3);
}

TEST(SyncClockTest, WhatAStepComesToDoesNotDependOnOrderOrWorkers) {
  const StepRules rules = *StepRulesOf(MakePlan(3, 9));
  SyncClock alone(rules, FirstDecision(rules, 1, {kFirst})), together(rules, FirstDecision(rules, 1, {kFirst, kSecond, kThird}));
  const double losses[] = {0.1, 0.2, 0.7};
  for (uint32_t share = 0; share < 3; ++share) ASSERT_TRUE(alone.Add(Done(1, share, 3, 3, false, losses[share]), kFirst).ok());
  ASSERT_TRUE(together.Add(Done(1, 2, 3, 3, false, losses[2]), kThird).ok());
  ASSERT_TRUE(together.Add(Done(1, 0, 3, 3, false, losses[0]), kFirst).ok());
  ASSERT_TRUE(together.Add(Done(1, 1, 3, 3, false, losses[1]), kSecond).ok());
  const SyncClock::Outcome one = alone.Decide({kFirst}), three = together.Decide({kFirst, kSecond, kThird});
  EXPECT_EQ(one.loss, three.loss);
  EXPECT_EQ(one.rows, three.rows);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one.decision.winners(i).share(), three.decision.winners(i).share());
    EXPECT_EQ(one.decision.winners(i).rows(), three.decision.winners(i).rows());
  }
}

TEST(SyncClockTest, AShareWhoseRowsAreRefusedIsDoneAndNoWinner) {
  const StepRules rules = *StepRulesOf(MakePlan(2, 8));
  SyncClock clock(rules, FirstDecision(rules, 1, {kFirst, kSecond}));
  ShareDone refused = Done(1, 0, 0, 4, false, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(clock.Add(refused, kFirst).status())) << "no rows, and none refused";
  refused.set_refused_rows(5);
  EXPECT_TRUE(absl::IsInvalidArgument(clock.Add(refused, kFirst).status())) << "more than were asked for";
  refused.set_refused_rows(4);
  EXPECT_TRUE(*clock.Add(refused, kFirst));
  EXPECT_FALSE(*clock.Add(refused, kFirst));
  ShareDone both = Done(1, 1, 2, 4, false);
  both.set_refused_rows(2);
  EXPECT_TRUE(absl::IsInvalidArgument(clock.Add(both, kSecond).status())) << "done and refused";
  EXPECT_TRUE(*clock.Add(Done(1, 1, 4, 4, false, 0.5), kSecond));
  ASSERT_TRUE(clock.Complete());
  const SyncClock::Outcome outcome = clock.Decide({kFirst, kSecond});
  ASSERT_EQ(outcome.decision.winners_size(), 1);
  EXPECT_EQ(outcome.decision.winners(0).share(), 1u);
  EXPECT_EQ(outcome.decision.rows(), 4) << "the divisor counts what was trained";
  EXPECT_EQ(outcome.loss, 0.5);
  EXPECT_EQ(outcome.decision.assignment(0).position().row(), 4u) << "the share goes on behind them";
}

}  // namespace
}  // namespace tessera
