// Workers that die, leave, or are started again in the middle of a synchronous job: others do their shares, and the result is the same.
#include <atomic>

#include "absl/strings/str_cat.h"
#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

class LostWorkersTest : public CoordinatorFixture {
 protected:
  DoneRequest Leaving() {
    DoneRequest report;
    report.mutable_leaving();
    return report;
  }
  // Everything that must not depend on who computed what.
  static std::string Outcome(Report report) {
    for (const char* name : {"seconds", "events", "workers", "workers_lost", "workers_left", "shares_again", "checkpoint"}) {
      report.GetReflection()->ClearField(&report, report.GetDescriptor()->FindFieldByName(name));
    }
    return report.DebugString();
  }
  std::string Expected() {
    const std::string outcome = Outcome(RunJob());
    workers_.clear();
    coordinator_.reset();
    std::filesystem::remove_all(root_);
    return outcome;
  }
  // Two workers: one runs, the other is there and idle when training starts.
  ScriptedWorker* StartWithAnIdleOne() {
    script_.plan.mutable_job()->mutable_training()->set_workers(2);
    Init();
    AddWorker()->Start();
    while (Describe().workers() < 1) {  // the look at the data is then this one's
    }
    ScriptedWorker* idle = AddWorker();
    idle->Join();
    EXPECT_TRUE(Reaches("training"));
    return idle;
  }
  // Time passes; the running worker has a heartbeat.
  void PassWithHeartbeats(absl::Duration time) {
    HeartbeatRequest request;
    HeartbeatReply reply;
    for (absl::Duration passed; passed < time; passed += absl::Seconds(1)) {
      clock_.Advance(absl::Seconds(1));
      request.set_worker(workers_[0]->worker());
      request.set_generation(workers_[0]->generation());
      ASSERT_TRUE(coordinator_->Heartbeat(request, &reply).ok());
      ASSERT_FALSE(reply.fenced());
    }
  }
};

TEST_F(LostWorkersTest, TheSharesOfADeadWorkerAreComputedByTheOthersInTheSameStep) {
  const std::string expected = Expected();
  StartWithAnIdleOne();
  PassWithHeartbeats(absl::Seconds(40));
  workers_[0]->Wait();
  const Report report = Describe();
  EXPECT_EQ(Outcome(report), expected);
  EXPECT_EQ(report.workers_lost(), 1);
  EXPECT_EQ(report.shares_again(), 3);
  EXPECT_THAT(report.events(), Contains(AllOf(HasSubstr("step 0: worker 2"), HasSubstr("is lost: no heartbeat for 30s"))));
}

TEST_F(LostWorkersTest, OneThatLeavesHandsItsSharesOverAtOnce) {
  const std::string expected = Expected();
  ScriptedWorker* idle = StartWithAnIdleOne();
  EXPECT_TRUE(idle->Ask(Leaving()).has_fenced());
  workers_[0]->Wait();
  const Report report = Describe();
  EXPECT_EQ(Outcome(report), expected);
  EXPECT_EQ(report.workers_lost(), 0);
  EXPECT_EQ(report.workers_left(), 1);
  EXPECT_THAT(report.events(), Contains(HasSubstr("has left: it was told to stop")));
}

TEST_F(LostWorkersTest, AfterARestartOfTheCoordinatorTooNothingIsForgotten) {
  script_.quality = {6};  // an evaluation that the restart falls into is made again, under the next number
  const std::string expected = Expected();
  StartWithAnIdleOne()->Ask(Leaving());
  RestartCoordinator();
  workers_[0]->Wait();
  const Report report = Describe();
  EXPECT_EQ(Outcome(report), expected);
  EXPECT_EQ(report.workers_left(), 1);
}

TEST_F(LostWorkersTest, WhoComesWhenNobodyIsLeftTakesAllOver) {
  const std::string expected = Expected();
  Init();
  ASSERT_TRUE(FirstWork(AddWorker()).has_step());
  Pass(absl::Seconds(60));  // of 5 minutes of patience
  EXPECT_EQ(Describe().state(), "training");
  AddWorker()->Start();
  workers_[1]->Wait();
  EXPECT_EQ(Outcome(Describe()), expected);
  EXPECT_EQ(Describe().shares_again(), 6);
}

TEST_F(LostWorkersTest, AShareThatKilledThreeWorkersStopsTheJobNamingFileAndRow) {
  script_.plan.mutable_job()->mutable_training()->set_shares(1);
  script_.share_rows = {39};
  Init();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(FirstWork(AddWorker()).has_step());
    Pass(absl::Seconds(40));
    EXPECT_EQ(Describe().state(), i < 2 ? "training" : "failed");
  }
  EXPECT_THAT(Describe().message(), AllOf(HasSubstr("step 1, share 0: 3 workers died while they had it"),
                                          HasSubstr("/data/adult.csv, byte 0, row 0"), HasSubstr("worker 3 (host:3)")));
}

TEST_F(LostWorkersTest, APartOfAnEvaluationIsScoredByAnother) {
  const std::string expected = Expected();
  script_.plan.mutable_job()->mutable_training()->set_workers(2);
  Init();
  std::atomic<bool> left = false;
  AddWorker();
  AddWorker();
  script_.on_evaluation = [this, &left](uint64_t) {
    if (left.exchange(true)) return;
    workers_[1]->GiveUp();  // its thread ends with the next answer
  };
  workers_[0]->Start();
  workers_[1]->Start();
  workers_[1]->Wait();
  PassWithHeartbeats(absl::Seconds(40));
  workers_[0]->Wait();
  EXPECT_EQ(Outcome(Describe()), expected);
  EXPECT_EQ(Describe().workers_lost(), 1);
}

}  // namespace
}  // namespace tessera
