#include "ps/coordinator/training_run.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/coordinator/three_members.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Plan SmallPlan(Mode mode) {
  Plan plan;
  Training* training = plan.mutable_job()->mutable_training();
  training->set_mode(mode);
  training->set_shares(1);
  training->set_batch_size(10);
  training->set_epochs(2);
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(10);
  plan.add_train()->set_plain_bytes(80);
  plan.set_rows(40);
  return plan;
}

// As the coordinator answers a worker.
bool HandOut(TrainingRun* run, Member member, const std::vector<Member>& members, Instruction* next) {
  run->Give(member, members, 0);
  return run->Fill(member, next);
}

// Trains a single share of 40 rows in steps of 10; returns the steps that were boundaries.
std::vector<uint64_t> Boundaries(const Plan& plan, absl::Duration step_time = absl::ZeroDuration(),
                                 absl::Duration boundary_time = absl::ZeroDuration()) {
  absl::StatusOr<TrainingRun> run = TrainingRun::Create(std::make_shared<const Plan>(plan));
  EXPECT_TRUE(run.ok()) << run.status();
  absl::Time now = absl::FromUnixSeconds(1000);
  run->Start(1, {kFirst}, now);
  std::vector<uint64_t> boundaries;
  while (!run->Over()) {
    now += step_time;
    Instruction next;
    EXPECT_TRUE(HandOut(&*run, kFirst, {kFirst}, &next));
    ShareDone done;
    done.set_step(next.step().decision().step() + 1);
    done.set_rows(10);
    *done.mutable_position() = next.step().shares(0).position();
    done.mutable_position()->set_row(done.position().row() + 10);
    done.mutable_position()->set_end(done.position().row() == 40);
    EXPECT_TRUE(run->Add(done, kFirst, {kFirst}, now).ok());
    if (!run->AtBoundary()) continue;
    boundaries.push_back(run->step());
    now += boundary_time;
    if (run->boundary().evaluate) run->AddEvaluation(Score(), "");
    run->SetSaved(now);
    if (!run->Over()) run->Resume(now);
  }
  return boundaries;
}

TEST(TrainingRunTest, BoundedGrantsUpToItsStaleness) {
  Plan plan = SmallPlan(bounded);
  plan.mutable_job()->mutable_training()->set_staleness(2);
  absl::StatusOr<TrainingRun> run = TrainingRun::Create(std::make_shared<const Plan>(plan));
  ASSERT_TRUE(run.ok()) << run.status();
  const absl::Time now = absl::FromUnixSeconds(1000);
  const std::vector<Member> both = {kFirst, kSecond};
  run->Start(1, both, now);
  Instruction next;
  ASSERT_TRUE(HandOut(&*run, kFirst, both, &next));
  EXPECT_TRUE(run->Advance(kFirst, 2, {kFirst}, now).granted) << "nobody else has a task";
  ASSERT_TRUE(HandOut(&*run, kSecond, both, &next));
  EXPECT_EQ(next.task().clock(), 2);
  EXPECT_TRUE(run->Advance(kFirst, 4, both, now).granted);
  EXPECT_FALSE(run->Advance(kFirst, 5, both, now).granted);
  EXPECT_TRUE(run->Advance(kSecond, 3, both, now).news);
  EXPECT_TRUE(run->Advance(kFirst, 5, both, now).granted);
  EXPECT_FALSE(run->Advance(kThird, 0, both, now).has_task);
  EXPECT_FALSE(run->Advance(kFirst, 6, both, now).granted);
  EXPECT_TRUE(run->Advance(kFirst, 6, {kFirst}, now).granted) << "the other one is lost";
  Report report;
  run->Describe(&report);
  EXPECT_EQ(report.step_gap_max(), 2);
}

TEST(TrainingRunTest, TheEndOfTheLastEpochIsAlwaysABoundary) { EXPECT_THAT(Boundaries(SmallPlan(sync)), ElementsAre(8)); }

TEST(TrainingRunTest, CadencesCountStepsEpochsAndTime) {
  Plan plan = SmallPlan(sync);
  plan.mutable_job()->mutable_evaluation()->mutable_every()->set_epochs(1);
  EXPECT_THAT(Boundaries(plan), ElementsAre(4, 8));
  plan.mutable_job()->mutable_evaluation()->mutable_every()->set_epochs(0.5);
  EXPECT_THAT(Boundaries(plan), ElementsAre(2, 4, 6, 8));
  plan.mutable_job()->mutable_evaluation()->mutable_every()->set_epochs(2);
  EXPECT_THAT(Boundaries(plan), ElementsAre(8));
  plan.mutable_job()->mutable_evaluation()->mutable_every()->set_steps(3);
  EXPECT_THAT(Boundaries(plan), ElementsAre(3, 6, 8));
  plan.mutable_job()->mutable_evaluation()->mutable_every()->set_ms(2500);
  EXPECT_THAT(Boundaries(plan, absl::Seconds(1)), ElementsAre(3, 6, 8));
}

TEST(TrainingRunTest, TheTimeOfAnEvaluationIsNoPartOfItsCadence) {
  Plan plan = SmallPlan(sync);
  plan.mutable_job()->mutable_evaluation()->mutable_every()->set_ms(2500);
  EXPECT_THAT(Boundaries(plan, absl::Seconds(1), absl::Minutes(11)), ElementsAre(3, 6, 8));
}

TEST(TrainingRunTest, CheckpointsHaveACadenceOfTheirOwn) {
  Plan plan = SmallPlan(sync);
  plan.mutable_job()->mutable_checkpoint()->mutable_every()->set_steps(3);
  plan.mutable_job()->mutable_evaluation()->mutable_every()->set_epochs(1);
  EXPECT_THAT(Boundaries(plan), ElementsAre(3, 4, 6, 8));
  plan.mutable_job()->mutable_checkpoint()->mutable_every()->set_ms(3000);
  EXPECT_THAT(Boundaries(plan, absl::Seconds(1)), ElementsAre(3, 4, 7, 8));
}

TEST(TrainingRunTest, PlansThatCannotBeTrainedAreRefused) {
  Plan plan = SmallPlan(sync);
  plan.mutable_job()->mutable_training()->set_epochs(0);
  EXPECT_THAT(std::string(TrainingRun::Create(std::make_shared<const Plan>(plan)).status().message()), HasSubstr("training.epochs"));
  plan = SmallPlan(async);
  plan.mutable_train(0)->set_plain_bytes(0);
  EXPECT_THAT(std::string(TrainingRun::Create(std::make_shared<const Plan>(plan)).status().message()), HasSubstr("no row to train on"));
}

TEST(TrainingRunTest, AnEpochWithoutRowsIsAnError) {
  TrainingRun run = *TrainingRun::Create(std::make_shared<const Plan>(SmallPlan(sync)));
  run.Start(1, {kFirst}, absl::UnixEpoch());
  ShareDone done;
  done.set_step(1);
  done.mutable_position()->set_end(true);
  EXPECT_THAT(std::string(run.Add(done, kFirst, {kFirst}, absl::UnixEpoch()).message()), HasSubstr("no row to train on"));
}

TEST(TrainingRunTest, AnAsyncBoundaryWaitsForTheTasksUnderWay) {
  Plan plan = SmallPlan(async);
  plan.mutable_job()->mutable_evaluation()->mutable_every()->set_steps(1);
  TrainingRun run = *TrainingRun::Create(std::make_shared<const Plan>(plan));
  const std::vector<Member> members = {kFirst, kSecond};
  run.Start(1, members, absl::UnixEpoch());
  Instruction first, second, third;
  ASSERT_TRUE(HandOut(&run, kFirst, members, &first));
  ASSERT_TRUE(HandOut(&run, kSecond, members, &second));
  EXPECT_EQ(first.task().optimizer_step(), 1);
  EXPECT_EQ(second.task().optimizer_step(), 2);
  EXPECT_EQ(second.task().optimizer_step_stride(), 2);
  TaskDone done;
  done.set_task(first.task().task());
  done.set_rows(5);
  done.set_pushes(3);
  ASSERT_TRUE(run.Add(done, absl::UnixEpoch()).ok());
  EXPECT_FALSE(run.AtBoundary());
  EXPECT_FALSE(HandOut(&run, kFirst, members, &third));
  ASSERT_TRUE(HandOut(&run, kSecond, members, &third));  // its answer was lost
  EXPECT_EQ(third.task().task(), second.task().task());
  done.set_task(second.task().task());
  ASSERT_TRUE(run.Add(done, absl::UnixEpoch()).ok());
  EXPECT_TRUE(run.AtBoundary());
  EXPECT_EQ(run.step(), 6);
  EXPECT_EQ(run.Snapshot().open_blocks(0), 2);
  EXPECT_EQ(run.Snapshot().open_blocks(1), 8);
  run.Resume(absl::UnixEpoch());
  ASSERT_TRUE(HandOut(&run, kFirst, members, &third));
  EXPECT_EQ(third.task().optimizer_step(), 7);
}

TEST(TrainingRunTest, MoreRefusalsThanAllowedEndTheRunAndARepeatIsNone) {
  Plan plan = SmallPlan(async);
  plan.mutable_job()->mutable_training()->set_refusals_max(3);
  TrainingRun run = *TrainingRun::Create(std::make_shared<const Plan>(plan));
  run.Start(1, {kFirst}, absl::UnixEpoch());
  for (const uint64_t refused : {2, 1, 1}) {
    EXPECT_TRUE(run.CheckRefusals().ok());
    Instruction next;
    ASSERT_TRUE(HandOut(&run, kFirst, {kFirst}, &next));
    TaskDone done;
    done.set_task(next.task().task());
    done.set_rows(5);
    done.set_pushes(1);
    done.set_refused_batches(refused);
    done.set_refused_rows(refused * 10);
    done.set_refusal(absl::StrCat("field ", refused));
    for (int repeat = 0; repeat < 2; ++repeat) ASSERT_TRUE(run.Add(done, absl::UnixEpoch()).ok());
  }
  Report report;
  run.Describe(&report);
  EXPECT_EQ(report.refused_batches(), 4u);
  EXPECT_EQ(report.refused_rows(), 40u);
  EXPECT_EQ(report.total_rows(), 15u);
  const absl::Status status = run.CheckRefusals();
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("field 1. 4 batches were left out"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("training.refusals_max allows 3"));
  // A run restored from a state goes on counting.
  TrainingRun restored = *TrainingRun::Create(std::make_shared<const Plan>(plan));
  restored.Restore(run.state());
  EXPECT_EQ(restored.CheckRefusals(), status);
}

}  // namespace
}  // namespace tessera
