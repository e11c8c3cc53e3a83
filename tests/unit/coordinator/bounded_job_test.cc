// bounded: whole jobs whose workers say before each batch how far they are.
#include <thread>

#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

class BoundedJobTest : public CoordinatorFixture {
 protected:
  BoundedJobTest() {
    script_.plan.mutable_job()->mutable_training()->set_mode(bounded);
    script_.plan.mutable_job()->mutable_training()->set_staleness(2);
    script_.plan.mutable_job()->mutable_evaluation()->set_patience(0);
  }

  // Two workers that have a task each.
  void InitTwo() {
    Init();
    for (ScriptedWorker** worker : {&first_, &second_}) {
      *worker = AddWorker();
      ASSERT_TRUE(FirstWork(*worker).has_task());
    }
  }
  void PassBeating(int seconds, const std::vector<const ScriptedWorker*>& alive) {
    for (int second = 0; second < seconds; ++second) {
      for (const ScriptedWorker* worker : alive) {
        HeartbeatRequest heartbeat;
        heartbeat.set_worker(worker->worker());
        heartbeat.set_generation(worker->generation());
        HeartbeatReply reply;
        ASSERT_TRUE(coordinator_->Heartbeat(heartbeat, &reply).ok());
      }
      Pass(absl::Seconds(1));
    }
  }

  ScriptedWorker* first_ = nullptr;
  ScriptedWorker* second_ = nullptr;
};

TEST_F(BoundedJobTest, EveryRowIsTrainedOnceAndNobodyRunsAhead) {
  for (const int workers : {1, 2, 3}) {
    std::filesystem::remove_all(root_);
    const Report report = RunJob(workers);
    EXPECT_EQ(report.state(), "finished") << report.message();
    EXPECT_EQ(report.rows(), 3 * 200);
    EXPECT_LE(report.step_gap_max(), 2);
  }
}

TEST_F(BoundedJobTest, WhoIsAheadWaitsForTheSlowest) {
  InitTwo();
  for (uint64_t clock : {0, 1, 2}) EXPECT_TRUE(first_->Advance(clock).granted());
  std::thread waiting([&] {
    const AdvanceReply reply = first_->AdvanceUntilSaid(3);
    EXPECT_TRUE(reply.granted());
    EXPECT_EQ(reply.slowest(), 1);
  });
  EXPECT_TRUE(second_->Advance(0).granted());
  EXPECT_TRUE(second_->Advance(1).granted());
  waiting.join();
  EXPECT_EQ(Describe().step_gap_max(), 2);
}

TEST_F(BoundedJobTest, WhoDiesHoldsUpNobody) {
  InitTwo();
  PassBeating(40, {first_});
  EXPECT_TRUE(first_->AdvanceUntilSaid(7).granted());
  EXPECT_TRUE(second_->AdvanceUntilSaid(0).over());
}

TEST_F(BoundedJobTest, WhoHangsButLivesIsGivenUp) {
  script_.plan.mutable_job()->mutable_training()->mutable_patience()->set_ms(10000);
  InitTwo();
  EXPECT_TRUE(first_->Advance(2).granted());
  PassBeating(140, {first_, second_});  // patience, and the workers' last calls
  EXPECT_TRUE(first_->AdvanceUntilSaid(3).granted());
  EXPECT_THAT(Describe().events(), testing::Contains(testing::HasSubstr("worker 2 (host:2) is lost: no progress for")));
}

TEST_F(BoundedJobTest, ARestartedCoordinatorKnowsNoClockAheadOfTheTruth) {
  InitTwo();
  for (uint64_t clock : {0, 1, 2}) EXPECT_TRUE(second_->Advance(clock).granted());
  RestartCoordinator();
  const AdvanceReply reply = first_->AdvanceUntilSaid(2);
  EXPECT_TRUE(reply.granted());
  EXPECT_EQ(reply.slowest(), 0) << "until the other says more";
  EXPECT_TRUE(second_->AdvanceUntilSaid(3).granted());
  EXPECT_EQ(first_->AdvanceUntilSaid(5).slowest(), 3);
}

}  // namespace
}  // namespace tessera
