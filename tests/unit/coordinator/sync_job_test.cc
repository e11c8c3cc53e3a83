// Whole synchronous jobs, with scripted workers on threads of their own.
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SyncJobTest : public CoordinatorFixture {
 protected:
  // The decisions that were handed out, by step, without what depends on who the workers are or on the incarnation.
  std::map<uint64_t, std::string> Decisions() {
    std::map<uint64_t, std::string> decisions;
    for (const auto& worker : workers_) {
      for (const StepTask& task : worker->steps) decisions[task.decision().step()] = Bare(task.decision());
    }
    return decisions;
  }
  static std::string Bare(Decision decision) {
    decision.clear_incarnation();
    decision.clear_cut();
    decision.clear_stop();
    decision.clear_evaluate();
    for (Winner& winner : *decision.mutable_winners()) {
      winner.clear_worker();
      winner.clear_generation();
    }
    for (Assignment& assignment : *decision.mutable_assignment()) {
      assignment.clear_worker();
      assignment.clear_generation();
    }
    return decision.ShortDebugString();
  }
};

TEST_F(SyncJobTest, AJobRunsThroughItsEpochsAndIsFinished) {
  const Report report = RunJob();
  EXPECT_EQ(report.state(), "finished");
  EXPECT_EQ(report.message(), "");
  EXPECT_EQ(workers_[0]->last.stop().code(), 0);
  EXPECT_EQ(workers_[0]->last.stop().message(), "job finished");
  // 39 rows in steps of 4 + 4 + 3 + 3 + 3 + 3: share 0 needs 3 steps, as do shares 2 and 3.
  EXPECT_EQ(report.rows(), 3 * 39);
  EXPECT_EQ(report.total_rows(), 3 * 39);
  EXPECT_EQ(report.steps(), 3 * 3);
  EXPECT_EQ(report.epochs(), 3);
  EXPECT_EQ(report.epoch_rows(), 39);
  EXPECT_TRUE(report.has_train_logloss());
  EXPECT_EQ(report.evaluations_size(), 3);
  EXPECT_EQ(report.best(), 2);
  EXPECT_DOUBLE_EQ(report.evaluation().auc(), 0.7);
  EXPECT_EQ(report.workers(), 1);
  EXPECT_FALSE(report.resumed());
  EXPECT_EQ(report.checkpoint(), checkpoints() + "/step-000000000009");
  EXPECT_EQ(report.content_digest(), "ffffffffffffffff");
  const CheckpointStore::Entry newest = Newest();
  EXPECT_EQ(newest.folder, report.checkpoint());
  EXPECT_TRUE(newest.manifest.state().finished());
  EXPECT_EQ(newest.manifest.rows(), 100);
  EXPECT_EQ(newest.manifest.files(0).name(), "shard-0-of-1/step");
  EXPECT_EQ(newest.manifest.time(), "2023-11-14T22:13:20Z");
}

TEST_F(SyncJobTest, FlaggedDecisionsAreCommittedBeforeAnyoneGoesOn) {
  RunJob(2, 2);
  for (const auto& server : servers_) {
    ASSERT_EQ(server->commits().size(), 3);
    EXPECT_EQ(server->commits()[0].step(), 3);
    EXPECT_TRUE(server->commits()[0].evaluate());
    EXPECT_TRUE(server->commits()[0].cut());
    EXPECT_FALSE(server->commits()[0].stop());
    EXPECT_TRUE(server->commits()[2].stop());
    EXPECT_EQ(server->saves().size(), 3);
  }
  EXPECT_THAT(servers_[1]->saves()[0].directory(), HasSubstr("step-000000000003.unfinished/shard-1-of-2"));
  const Peer peer = servers_[1]->saves()[0].peer();
  EXPECT_EQ(peer.job(), "adult");
  EXPECT_EQ(peer.incarnation(), 1);
  EXPECT_EQ(peer.map_version(), 1);
  EXPECT_EQ(peer.shard(), 1);
  EXPECT_EQ(peer.shards(), 2);
  for (const auto& worker : workers_) {
    for (const EvaluationTask& task : worker->evaluations) {
      EXPECT_TRUE(task.holdout());
      EXPECT_EQ(task.decision().step() % 3, 0);
      EXPECT_EQ(task.parts(), 2);
    }
  }
  // 64-bit sums of the servers' digests.
  EXPECT_EQ(Describe().content_digest(), "fffffffffffffffe");
}

TEST_F(SyncJobTest, TheSameDecisionsAndScoresAtAnyNumberOfWorkers) {
  const Report one = RunJob(1);
  const std::map<uint64_t, std::string> expected = Decisions();
  ASSERT_EQ(expected.size(), 9);
  for (const int workers : {2, 3}) {
    std::filesystem::remove_all(root_);
    const Report report = RunJob(workers);
    EXPECT_EQ(Decisions(), expected);
    EXPECT_EQ(report.train_logloss(), one.train_logloss());
    EXPECT_EQ(report.evaluation().SerializeAsString(), one.evaluation().SerializeAsString());
    for (const auto& worker : workers_) EXPECT_FALSE(worker->steps.empty());
  }
}

TEST_F(SyncJobTest, ThePlanIsSentUntilAWorkerHasShownItHasIt) {
  RunJob();
  EXPECT_TRUE(workers_[0]->steps[0].has_plan());
  for (size_t i = 1; i < workers_[0]->steps.size(); ++i) EXPECT_FALSE(workers_[0]->steps[i].has_plan());
  for (const EvaluationTask& task : workers_[0]->evaluations) EXPECT_FALSE(task.has_plan());
}

TEST_F(SyncJobTest, EarlyStoppingEndsTheJobAndRestoresTheBest) {
  script_.plan.mutable_job()->mutable_training()->set_epochs(10);
  script_.quality = {5, 8, 7, 8, 9};
  const Report report = RunJob();
  EXPECT_EQ(report.state(), "finished");
  EXPECT_EQ(report.epochs(), 4);
  EXPECT_EQ(report.best(), 1);
  EXPECT_EQ(report.evaluations_size(), 4);
  EXPECT_EQ(report.evaluations(1).checkpoint(), "step-000000000006");
  EXPECT_EQ(report.checkpoint(), checkpoints() + "/step-000000000006");
  EXPECT_EQ(report.evaluation().SerializeAsString(), report.evaluations(1).score().SerializeAsString());
  EXPECT_EQ(report.steps(), 12);
  EXPECT_EQ(Newest().folder, report.checkpoint());
  EXPECT_EQ(Newest().manifest.step(), 6);
  EXPECT_EQ(FindCheckpoint(root_ + "@best")->folder, report.checkpoint());
}

TEST_F(SyncJobTest, WithoutRestoreBestTheNewestStateIsFinal) {
  script_.plan.mutable_job()->mutable_evaluation()->set_restore_best(false);
  script_.quality = {5, 8, 7};
  const Report report = RunJob();
  EXPECT_EQ(report.best(), 1);
  EXPECT_EQ(report.checkpoint(), checkpoints() + "/step-000000000009");
  EXPECT_EQ(report.evaluation().SerializeAsString(), report.evaluations(2).score().SerializeAsString());
}

TEST_F(SyncJobTest, TheBestStateIsScoredOnTheFilesOnceAtTheEnd) {
  script_.plan.add_evaluate()->set_path("/data/adult.test");
  script_.quality = {8, 7, 6, 10};
  const Report report = RunJob(2);
  EXPECT_EQ(report.state(), "finished");
  EXPECT_EQ(report.evaluation().auc(), 1.0);
  EXPECT_EQ(report.evaluations_size(), 3);
  ASSERT_EQ(servers_[0]->opens().size(), 2);
  EXPECT_EQ(servers_[0]->opens()[1].restore_from(), checkpoints() + "/step-000000000003");
  EXPECT_EQ(servers_[0]->opens()[1].peer().incarnation(), 2);
  for (const auto& worker : workers_) {
    ASSERT_EQ(worker->evaluations.size(), 4);
    const EvaluationTask& last = worker->evaluations.back();
    EXPECT_FALSE(last.holdout());
    EXPECT_TRUE(last.has_plan());  // the incarnation is another
    EXPECT_EQ(last.incarnation(), 2);
    EXPECT_EQ(last.decision().incarnation(), 2);
    EXPECT_EQ(last.decision().step(), 3);
  }
}

TEST_F(SyncJobTest, WithoutHoldoutTheFilesDecide) {
  script_.plan.mutable_job()->mutable_data()->mutable_evaluate()->clear_holdout();
  script_.plan.add_evaluate()->set_path("/data/adult.test");
  const Report report = RunJob();
  EXPECT_EQ(workers_[0]->evaluations.size(), 3);
  EXPECT_FALSE(workers_[0]->evaluations[0].holdout());
  EXPECT_EQ(servers_[0]->opens().size(), 1);
  EXPECT_EQ(report.evaluation().SerializeAsString(), report.evaluations(2).score().SerializeAsString());
}

TEST_F(SyncJobTest, WithNothingToScoreTheNewestIsBest) {
  script_.plan.mutable_job()->mutable_data()->mutable_evaluate()->clear_holdout();
  Report report = RunJob();
  EXPECT_TRUE(workers_[0]->evaluations.empty());
  EXPECT_EQ(report.checkpoint(), checkpoints() + "/step-000000000009");
  EXPECT_EQ(report.evaluation().rows(), 0);
  EXPECT_FALSE(report.evaluation().has_auc());

  std::filesystem::remove_all(root_);
  script_.plan.mutable_job()->mutable_data()->mutable_evaluate()->set_holdout(0.001);  // no row falls into it
  script_.quality.clear();
  report = RunJob();
  EXPECT_EQ(workers_[0]->evaluations.size(), 3);
  EXPECT_EQ(report.epochs(), 3);
  EXPECT_EQ(report.checkpoint(), checkpoints() + "/step-000000000009");
  EXPECT_FALSE(report.evaluation().has_auc());
}

TEST_F(SyncJobTest, OldCheckpointsGoButNeverTheBest) {
  script_.plan.mutable_job()->mutable_training()->set_epochs(5);
  script_.plan.mutable_job()->mutable_evaluation()->set_patience(0);
  script_.plan.mutable_job()->mutable_checkpoint()->set_keep(2);
  script_.quality = {9, 5, 5, 5, 5};
  RunJob();
  std::vector<uint64_t> steps;
  for (const CheckpointStore::Entry& entry : CheckpointStore(checkpoints()).List()) steps.push_back(entry.manifest.step());
  EXPECT_THAT(steps, ElementsAre(3, 12, 15));
}

TEST_F(SyncJobTest, AResumedRunDecidesAsTheUninterruptedOne) {
  const Report whole = RunJob(2);
  const std::map<uint64_t, std::string> expected = Decisions();
  for (const uint64_t stop_at : {1, 2, 3, 5}) {
    std::filesystem::remove_all(root_);
    InterruptAt(stop_at, "the server was stopped");
    const Report stopped = RunJob(2);
    EXPECT_EQ(stopped.state(), "interrupted");
    EXPECT_EQ(stopped.message(), absl::StrCat("the server was stopped at step ", stop_at, "; the same command resumes"));
    EXPECT_EQ(stopped.steps(), stop_at);
    for (const auto& worker : workers_) EXPECT_EQ(worker->last.stop().code(), static_cast<int>(absl::StatusCode::kCancelled));
    EXPECT_EQ(Newest().manifest.step(), stop_at);
    std::map<uint64_t, std::string> decisions = Decisions();

    script_.on_step = nullptr;
    const std::vector<int> quality = script_.quality;
    script_.quality.erase(script_.quality.begin(), script_.quality.begin() + stop_at / 3);
    const Report resumed = RunJob(2);
    script_.quality = quality;
    EXPECT_TRUE(resumed.resumed());
    ASSERT_EQ(servers_[0]->opens().size(), 1);
    EXPECT_EQ(servers_[0]->opens()[0].restore_from(), absl::StrCat(checkpoints(), "/step-00000000000", stop_at));
    EXPECT_EQ(servers_[0]->opens()[0].peer().incarnation(), 2);
    decisions.merge(Decisions());
    EXPECT_EQ(decisions, expected);
    EXPECT_EQ(resumed.steps(), whole.steps() - stop_at);
    EXPECT_EQ(resumed.total_rows(), whole.total_rows());
    EXPECT_EQ(resumed.total_steps(), whole.total_steps());
    EXPECT_EQ(resumed.train_logloss(), whole.train_logloss());
    ASSERT_EQ(resumed.evaluations_size(), whole.evaluations_size());
    for (int i = 0; i < whole.evaluations_size(); ++i) {
      EXPECT_EQ(resumed.evaluations(i).SerializeAsString(), whole.evaluations(i).SerializeAsString());
    }
  }
}

TEST_F(SyncJobTest, PeriodicCheckpointsAreMadeWithoutEvaluation) {
  script_.plan.mutable_job()->mutable_checkpoint()->mutable_every()->set_steps(2);
  script_.plan.mutable_job()->mutable_checkpoint()->set_keep(100);
  RunJob();
  std::vector<uint64_t> steps;
  for (const CheckpointStore::Entry& entry : CheckpointStore(checkpoints()).List()) steps.push_back(entry.manifest.step());
  EXPECT_THAT(steps, ElementsAre(2, 3, 4, 6, 8, 9));
  EXPECT_EQ(workers_[0]->evaluations.size(), 3);
}

TEST_F(SyncJobTest, SecondsCountTrainingOnly) {
  script_.on_step = [&](uint64_t) { clock_.Advance(absl::Seconds(1)); };
  const Report report = RunJob();
  EXPECT_EQ(report.seconds(), 9);
}

}  // namespace
}  // namespace tessera
