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
  Init();
  ScriptedWorker* const fast = AddWorker();
  ASSERT_TRUE(FirstWork(fast).has_task());
  ScriptedWorker* const slow = AddWorker();
  ASSERT_TRUE(FirstWork(slow).has_task());
  for (uint64_t clock : {0, 1, 2}) EXPECT_TRUE(fast->Advance(clock).granted());
  std::thread waiting([&] {
    const AdvanceReply reply = fast->AdvanceUntilSaid(3);
    EXPECT_TRUE(reply.granted());
    EXPECT_EQ(reply.slowest(), 1);
  });
  EXPECT_TRUE(slow->Advance(0).granted());
  EXPECT_TRUE(slow->Advance(1).granted());
  waiting.join();
  EXPECT_EQ(Describe().step_gap_max(), 2);
}

TEST_F(BoundedJobTest, WhoDiesHoldsUpNobody) {
  Init();
  ScriptedWorker* const fast = AddWorker();
  ASSERT_TRUE(FirstWork(fast).has_task());
  ScriptedWorker* const dead = AddWorker();
  ASSERT_TRUE(FirstWork(dead).has_task());
  for (int second = 0; second < 40; ++second) {
    HeartbeatRequest heartbeat;
    heartbeat.set_worker(fast->worker());
    heartbeat.set_generation(fast->generation());
    HeartbeatReply alive;
    ASSERT_TRUE(coordinator_->Heartbeat(heartbeat, &alive).ok());
    Pass(absl::Seconds(1));
  }
  EXPECT_TRUE(fast->AdvanceUntilSaid(7).granted());
  EXPECT_TRUE(dead->AdvanceUntilSaid(0).over());
}

TEST_F(BoundedJobTest, WhoHangsButLivesIsGivenUp) {
  script_.plan.mutable_job()->mutable_training()->mutable_patience()->set_ms(10000);
  Init();
  ScriptedWorker* const fast = AddWorker();
  ASSERT_TRUE(FirstWork(fast).has_task());
  ScriptedWorker* const hanging = AddWorker();
  ASSERT_TRUE(FirstWork(hanging).has_task());
  EXPECT_TRUE(fast->Advance(2).granted());
  for (int second = 0; second < 140; ++second) {  // patience, and the workers' last calls
    for (const ScriptedWorker* worker : {fast, hanging}) {
      HeartbeatRequest heartbeat;
      heartbeat.set_worker(worker->worker());
      heartbeat.set_generation(worker->generation());
      HeartbeatReply alive;
      ASSERT_TRUE(coordinator_->Heartbeat(heartbeat, &alive).ok());
    }
    Pass(absl::Seconds(1));
  }
  // The servers are looked for, then asked about its task.
  for (int i = 0; i < 60000 && Describe().events_size() < 2; ++i) Clock::Real()->SleepFor(absl::Milliseconds(1));
  EXPECT_THAT(Describe().events(), testing::ElementsAre(testing::HasSubstr("worker 2 (host:2) is lost: no progress for"), testing::_));
  EXPECT_TRUE(fast->AdvanceUntilSaid(3).granted());
}

TEST_F(BoundedJobTest, ARestartedCoordinatorKnowsNoClockAheadOfTheTruth) {
  Init();
  ScriptedWorker* const fast = AddWorker();
  ASSERT_TRUE(FirstWork(fast).has_task());
  ScriptedWorker* const slow = AddWorker();
  ASSERT_TRUE(FirstWork(slow).has_task());
  for (uint64_t clock : {0, 1, 2}) EXPECT_TRUE(slow->Advance(clock).granted());
  RestartCoordinator();
  const AdvanceReply reply = fast->AdvanceUntilSaid(2);
  EXPECT_TRUE(reply.granted());
  EXPECT_EQ(reply.slowest(), 0) << "until the other says more";
  EXPECT_TRUE(slow->AdvanceUntilSaid(3).granted());
  EXPECT_EQ(fast->AdvanceUntilSaid(5).slowest(), 3);
}

}  // namespace
}  // namespace tessera
