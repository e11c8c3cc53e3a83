// The rules of sync steps, sentence by sentence.
#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class SyncRulesTest : public ::testing::Test {
 protected:
  SyncRulesTest() : group_(2) { EXPECT_TRUE(group_.Open().ok()); }

  absl::Status Pull(uint64_t step, const Decision& decision) { return group_.Pull(step, &decision, {Mix64(1), Mix64(2)}).status(); }
  // Stages one share of step t and decides the step. Nothing is committed yet.
  Decision StageAndDecide(uint64_t step, const Decision& before) {
    const ShareGradients share = group_.RandomShare(0, step, 50);
    EXPECT_TRUE(group_.Stage(step, before, share).ok());
    return Decide(step, {share});
  }
  uint64_t StepOf(uint32_t shard) { return group_.Describe(shard).step(); }

  ServerGroup group_;
};

TEST_F(SyncRulesTest, APullOfTheFirstStepAnswersInitialValues) {
  const Decision start = Start();
  const absl::StatusOr<PulledState> state = group_.Pull(1, &start, WorldIds());
  ASSERT_TRUE(state.ok()) << state.status();
  EXPECT_EQ(state->values[0], 0);  // first-order weight
  EXPECT_NE(state->values[1], 0);
  EXPECT_NE(state->dense[0], 0);
  EXPECT_EQ(StepOf(0), 0u);
}

TEST_F(SyncRulesTest, APullCommitsTheDecisionItCarries) {
  const Decision d1 = StageAndDecide(1, Start());
  const Decision start = Start();
  const PulledState before = *group_.Pull(1, &start, WorldIds());
  EXPECT_EQ(StepOf(0), 0u);
  const PulledState after = *group_.Pull(2, &d1, WorldIds());
  EXPECT_EQ(StepOf(0), 1u);
  EXPECT_EQ(StepOf(1), 1u);
  EXPECT_FALSE(after == before);
  // A second pull of the step finds it committed: exactly version 1 again.
  EXPECT_TRUE(*group_.Pull(2, &d1, WorldIds()) == after);
}

TEST_F(SyncRulesTest, AStageCommitsTheDecisionItCarries) {
  const Decision d1 = StageAndDecide(1, Start());
  EXPECT_TRUE(group_.Stage(2, d1, group_.RandomShare(0, 2, 10)).ok());
  EXPECT_EQ(StepOf(0), 1u);
  EXPECT_EQ(StepOf(1), 1u);
}

TEST_F(SyncRulesTest, APullOfAnAppliedStepIsStepOver) {
  const Decision d1 = StageAndDecide(1, Start());
  ASSERT_TRUE(Pull(2, d1).ok());
  const absl::Status status = Pull(1, Start());
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("step over"));
}

TEST_F(SyncRulesTest, AStageOfAnAppliedStepIsStepOver) {
  const Decision d1 = StageAndDecide(1, Start());
  ASSERT_TRUE(Pull(2, d1).ok());
  const absl::Status status = group_.Stage(1, Start(), group_.RandomShare(0, 1, 50));
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("step over"));
}

TEST_F(SyncRulesTest, AServerTwoStepsBehindHasLostItsState) {
  Decision d2 = Decide(2, {});
  for (const absl::Status& status : {Pull(3, d2), group_.Stage(3, d2, group_.RandomShare(0, 3, 5))}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(status.message()), HasSubstr("state lost"));
  }
  EXPECT_EQ(group_.Commit(d2).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(StepOf(0), 0u);
}

TEST_F(SyncRulesTest, ACallMustCarryTheDecisionOfTheStepBefore) {
  EXPECT_EQ(Pull(2, Start()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(group_.Stage(2, Start(), group_.RandomShare(0, 1, 5)).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SyncRulesTest, ARepeatedStageIsAcknowledgedAndCountsOnce) {
  const ShareGradients share = group_.RandomShare(0, 1, 50);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(group_.Stage(1, Start(), share).ok());
  const Decision d1 = Decide(1, {share});
  const PulledState repeated = *group_.Pull(2, &d1, WorldIds());
  EXPECT_EQ(group_.Describe(0).pushes(), 1u);

  ServerGroup once(2);
  ASSERT_TRUE(once.Open().ok());
  ASSERT_TRUE(once.Stage(1, Start(), share).ok());
  EXPECT_TRUE(*once.Pull(2, &d1, WorldIds()) == repeated);
}

TEST_F(SyncRulesTest, OfTwoStagesOfOneAttemptTheFirstCounts) {
  const ShareGradients share = group_.RandomShare(0, 1, 50);
  ShareGradients other = share;
  for (float& value : other.values) value = 100;
  ASSERT_TRUE(group_.Stage(1, Start(), share).ok());
  ASSERT_TRUE(group_.Stage(1, Start(), other).ok());
  const Decision d1 = Decide(1, {share});
  const PulledState state = *group_.Pull(2, &d1, WorldIds());
  ServerGroup once(2);
  ASSERT_TRUE(once.Open().ok());
  ASSERT_TRUE(once.Stage(1, Start(), share).ok());
  EXPECT_TRUE(*once.Pull(2, &d1, WorldIds()) == state);
}

TEST_F(SyncRulesTest, TheDecisionChoosesAmongAttempts) {
  ShareGradients first = group_.RandomShare(0, 1, 50);
  ShareGradients second = group_.RandomShare(0, 2, 50);
  second.worker = 2;
  second.generation = 3;
  ASSERT_TRUE(group_.Stage(1, Start(), first).ok());
  ASSERT_TRUE(group_.Stage(1, Start(), second).ok());
  const Decision d1 = Decide(1, {second});
  const PulledState state = *group_.Pull(2, &d1, WorldIds());
  ServerGroup alone(2);
  ASSERT_TRUE(alone.Open().ok());
  ASSERT_TRUE(alone.Stage(1, Start(), second).ok());
  EXPECT_TRUE(*alone.Pull(2, &d1, WorldIds()) == state);
}

TEST_F(SyncRulesTest, ADecisionThatNamesAMissingStageIsStateLostAndChangesNothing) {
  const ShareGradients share = group_.RandomShare(0, 1, 50);
  ASSERT_TRUE(group_.Stage(1, Start(), share).ok());
  ShareGradients other_generation = share;
  other_generation.generation = 2;
  const Decision wrong = Decide(1, {other_generation});
  const absl::Status status = Pull(2, wrong);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("state lost: the stage of share 0 by worker 1 generation 2"));
  EXPECT_EQ(StepOf(0), 0u);
  EXPECT_TRUE(Pull(2, Decide(1, {share})).ok());
}

TEST_F(SyncRulesTest, ACommitDropsEveryStageOfItsStep) {
  ShareGradients late = group_.RandomShare(0, 9, 20);
  late.generation = 7;
  ASSERT_TRUE(group_.Stage(1, Start(), late).ok());
  Decision d1 = StageAndDecide(1, Start());
  ASSERT_TRUE(Pull(2, d1).ok());
  // The attempt that lost is gone: a decision of step 2 cannot name it.
  EXPECT_EQ(Pull(3, Decide(2, {late})).code(), absl::StatusCode::kDataLoss);
}

TEST_F(SyncRulesTest, AFlaggedDecisionIsCommittedBySending) {
  Decision d1 = StageAndDecide(1, Start());
  d1.set_evaluate(true);
  d1.set_cut(true);
  ASSERT_TRUE(group_.Commit(d1).ok());
  EXPECT_EQ(StepOf(0), 1u);
  EXPECT_TRUE(group_.Commit(d1).ok());  // its answer was lost
  EXPECT_EQ(StepOf(0), 1u);
  // The pull of the next step carries it too.
  EXPECT_TRUE(Pull(2, d1).ok());
  EXPECT_EQ(StepOf(0), 1u);
  EXPECT_EQ(group_.Commit(Start()).code(), absl::StatusCode::kAborted);
}

TEST_F(SyncRulesTest, AnotherDecisionOfAnAppliedStepIsRefused) {
  const Decision d1 = StageAndDecide(1, Start());
  ASSERT_TRUE(Pull(2, d1).ok());
  Decision other = d1;
  other.set_rows(d1.rows() + 1);
  EXPECT_EQ(Pull(2, other).code(), absl::StatusCode::kFailedPrecondition);
  // Flags and assignment may differ: a coordinator that restarts assigns anew.
  Decision again = d1;
  again.set_stop(true);
  again.add_assignment()->set_share(4);
  EXPECT_TRUE(Pull(2, again).ok());
}

TEST_F(SyncRulesTest, AStepWithoutWinnersOnlyCounts) {
  const Decision start = Start();
  const PulledState before = *group_.Pull(1, &start, WorldIds());
  const Decision d1 = Decide(1, {});
  EXPECT_TRUE(*group_.Pull(2, &d1, WorldIds()) == before);
  EXPECT_EQ(StepOf(0), 1u);
}

TEST_F(SyncRulesTest, AnEmptyShareIsAStageToo) {
  ShareGradients empty = group_.RandomShare(0, 1, 0);
  ASSERT_TRUE(group_.Stage(1, Start(), empty).ok());
  EXPECT_TRUE(Pull(2, Decide(1, {empty})).ok());
}

TEST_F(SyncRulesTest, ADecisionThatContradictsItselfIsRefused) {
  const ShareGradients a = group_.RandomShare(0, 1, 5), b = group_.RandomShare(1, 1, 5);
  ASSERT_TRUE(group_.Stage(1, Start(), a).ok());
  ASSERT_TRUE(group_.Stage(1, Start(), b).ok());
  EXPECT_EQ(Pull(2, Decide(1, {b, a})).code(), absl::StatusCode::kInvalidArgument);  // not in share order
  EXPECT_EQ(Pull(2, Decide(1, {a, a})).code(), absl::StatusCode::kInvalidArgument);
  Decision no_rows = Decide(1, {a, b});
  no_rows.set_rows(0);
  EXPECT_EQ(Pull(2, no_rows).code(), absl::StatusCode::kInvalidArgument);
  Decision no_rate = Decide(1, {a, b});
  no_rate.set_dense_learning_rate(std::nan(""));
  EXPECT_EQ(Pull(2, no_rate).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Pull(2, Decide(1, {a, b})).ok());
}

TEST_F(SyncRulesTest, AttemptsOfOneShareAreBounded) {
  ShareGradients share = group_.RandomShare(0, 1, 5);
  for (share.generation = 1; share.generation <= 4; ++share.generation) ASSERT_TRUE(group_.Stage(1, Start(), share).ok());
  EXPECT_EQ(group_.Stage(1, Start(), share).code(), absl::StatusCode::kResourceExhausted);
  share.share = 1;
  EXPECT_TRUE(group_.Stage(1, Start(), share).ok());
}

}  // namespace
}  // namespace tessera
