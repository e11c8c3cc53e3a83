// A coordinator that dies and comes back while servers and workers live on.
#include <map>
#include <set>

#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class RestartTest : public CoordinatorFixture {
 protected:
  void RestartAtStep(uint64_t at) {
    script_.on_step = [this, at](uint64_t step) {
      if (step == at && !restarted_) {
        restarted_ = true;
        RestartCoordinator();
      }
    };
  }
  Report Run(int servers = 2) {
    restarted_ = false;
    std::filesystem::remove_all(root_);
    return RunJob(1, servers);
  }
  static std::string Outcome(Report report) {
    report.clear_seconds();
    report.clear_events();
    return report.DebugString();
  }
  // The decisions the worker heard of: one of each step, with its winners.
  std::map<uint64_t, std::set<std::string>> Decisions() {
    std::map<uint64_t, std::set<std::string>> decisions;
    for (const StepTask& task : workers_[0]->steps) decisions[task.decision().step()].insert(task.decision().DebugString());
    return decisions;
  }
  bool restarted_ = false;
};

TEST_F(RestartTest, AtAnyStepTheJobGoesOnAsIfNothingHadHappened) {
  const std::string expected = Outcome(Run());
  const std::map<uint64_t, std::set<std::string>> decisions = Decisions();
  for (uint64_t step = 1; step <= 9; ++step) {
    RestartAtStep(step);
    const Report report = Run();
    EXPECT_EQ(Outcome(report), expected) << "restarted at step " << step;
    EXPECT_THAT(report.events(), ::testing::ElementsAre(HasSubstr("the coordinator was started again")));
    EXPECT_TRUE(restarted_);
    EXPECT_EQ(Decisions(), decisions);
    EXPECT_EQ(servers_[0]->opens().size(), 1);
    EXPECT_TRUE(workers_[0]->surveys.size() == 1);
  }
}

TEST_F(RestartTest, AnEvaluationIsMadeAgain) {
  const std::string expected = Outcome(Run());
  std::vector<uint64_t> asked;
  script_.quality = {5, 5, 6, 7};  // the first is reported to the coordinator that died
  script_.on_evaluation = [&](uint64_t evaluation) {
    asked.push_back(evaluation);
    if (evaluation == 1) RestartCoordinator();
  };
  EXPECT_EQ(Outcome(Run()), expected);
  EXPECT_EQ(asked, (std::vector<uint64_t>{1, 2, 3, 4}));
  EXPECT_GT(servers_[0]->commits().size(), 3) << "a flagged decision is sent again";
}

TEST_F(RestartTest, TasksUnderWayAreNeitherLostNorGivenTwice) {
  script_.plan.mutable_job()->mutable_training()->set_mode(async);
  for (const uint64_t at : {1, 7, 40}) {
    RestartAtStep(at);
    const Report report = Run(1);
    EXPECT_EQ(report.state(), "finished") << report.message();
    EXPECT_EQ(report.total_rows(), 600);
    std::map<uint64_t, int> times;
    for (const Task& task : workers_[0]->tasks) {
      EXPECT_EQ(++times[task.task()], 1);
    }
    EXPECT_EQ(report.total_steps(), servers_[0]->step());
  }
}

TEST_F(RestartTest, WhoJoinedIsKnown) {
  script_.plan.mutable_job()->mutable_training()->set_workers(2);
  Init();
  AddWorker()->Join();
  const JoinReply before = AddWorker()->Join();
  workers_[0]->Start();
  // It has half of the shares, and then waits for the others.
  ASSERT_TRUE(Reaches("training"));
  RestartCoordinator();
  const JoinReply after = workers_[1]->Join();
  EXPECT_EQ(after.worker(), before.worker());
  EXPECT_EQ(after.generation(), before.generation());
  EXPECT_EQ(Describe().workers(), 2);
  script_.on_step = nullptr;
  workers_[1]->Start();
  workers_[0]->Wait();
  workers_[1]->Wait();
  EXPECT_EQ(Describe().state(), "finished") << Describe().message();
}

TEST_F(RestartTest, AServerThatCannotBeWhereTheDecisionsAreTakesAllBackToTheCheckpoint) {
  const Report expected = Run();
  script_.on_step = [&](uint64_t step) {
    if (step != 6 || restarted_) return;
    restarted_ = true;
    servers_[1]->LoseSteps(3);
    RestartCoordinator();
  };
  const Report report = Run();
  EXPECT_EQ(report.state(), "finished") << report.message();
  EXPECT_EQ(report.evaluations_size(), 3);
  EXPECT_EQ(report.train_logloss(), expected.train_logloss());
  EXPECT_EQ(report.total_rows(), expected.total_rows());
  EXPECT_GT(report.rows(), expected.rows()) << "some were trained twice";
  ASSERT_EQ(servers_[1]->opens().size(), 2);
  EXPECT_EQ(servers_[1]->opens()[1].restore_from(), checkpoints() + "/step-000000000003");
  EXPECT_EQ(servers_[1]->opens()[1].peer().incarnation(), 2);
}

TEST_F(RestartTest, WithoutACheckpointItBeginsAgain) {
  script_.on_step = [&](uint64_t step) {
    if (step != 3 || restarted_) return;
    restarted_ = true;
    servers_[0]->LoseSteps(1);
    servers_[0]->LoseSteps(1);
    RestartCoordinator();
  };
  const Report report = Run();
  EXPECT_EQ(report.state(), "finished") << report.message();
  EXPECT_EQ(report.total_rows(), 3 * 39);
  EXPECT_EQ(workers_[0]->surveys.size(), 2);
  EXPECT_EQ(servers_[0]->opens()[1].restore_from(), "");
}

TEST_F(RestartTest, AnEndedJobAndAChangedOneGoByTheirCheckpoints) {
  InterruptAt(5, "stopped");
  Run();
  script_.on_step = nullptr;
  RestartCoordinator();
  EXPECT_EQ(Describe().state(), "waiting");
  workers_.clear();
  std::filesystem::remove_all(root_);
  Init(2);
  ScriptedWorker* worker = AddWorker();
  worker->Join();
  DoneRequest report;
  report.mutable_nothing();
  while (!worker->Ask(report).has_survey()) {
  }
  *report.mutable_survey()->mutable_plan() = script_.plan;
  while (!worker->Ask(report).has_step()) {
  }
  script_.plan.mutable_job()->mutable_training()->set_batch_size(21);
  RestartCoordinator();
  EXPECT_EQ(Describe().state(), "waiting") << "of another job file";
  script_.plan.mutable_job()->mutable_training()->set_batch_size(20);
  RestartCoordinator();
  EXPECT_TRUE(Reaches("training"));
}

}  // namespace
}  // namespace tessera
