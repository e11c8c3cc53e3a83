// Servers that are away for a while, for ever, or cannot save.
#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ServerFailuresTest : public CoordinatorFixture {};

TEST_F(ServerFailuresTest, AServerThatComesLateIsWaitedFor) {
  Init(2);
  servers_[1]->SetAway(3);
  AddWorker()->Start();
  workers_[0]->Wait();
  EXPECT_EQ(Describe().state(), "finished") << Describe().message();
}

TEST_F(ServerFailuresTest, ACommitIsAskedForAgain) {
  for (const absl::StatusCode code : {absl::StatusCode::kUnavailable, absl::StatusCode::kDeadlineExceeded}) {
    std::filesystem::remove_all(root_);
    script_.on_step = [&](uint64_t step) {
      if (step == 3) servers_[1]->SetAway(2, code);  // its commit is the next call of Open, Commit and Save
    };
    EXPECT_EQ(RunJob(1, 2).state(), "finished") << Describe().message();
  }
}

TEST_F(ServerFailuresTest, ASaveIsAskedForAgain) {
  script_.plan.mutable_job()->mutable_training()->set_mode(async);
  script_.on_step = [&](uint64_t task) {
    if (task == 1) servers_[1]->SetAway(2);
  };
  EXPECT_EQ(RunJob(1, 2).state(), "finished") << Describe().message();
}

TEST_F(ServerFailuresTest, AServerThatNeverComesIsNamed) {
  script_.plan.mutable_job()->mutable_training()->mutable_patience()->set_ms(20000);
  Init(2);
  servers_[1]->SetAway(1000000);
  // The fake clock runs while the coordinator waits between its tries; the worker has to live through it.
  AddWorker()->Start();
  workers_[0]->Wait();
  EXPECT_THAT(workers_[0]->last.stop().message(), AllOf(HasSubstr("server 1 (ps:7001)"), HasSubstr("tried for 20s")));
  EXPECT_EQ(workers_[0]->last.stop().code(), static_cast<int>(absl::StatusCode::kUnavailable));
}

TEST_F(ServerFailuresTest, ASaveThatFailsEndsTheJobAndLeavesTheLastCheckpoint) {
  script_.on_step = [&](uint64_t step) {
    if (step == 5) servers_[1]->FailSaves(absl::ResourceExhaustedError("disk full"));
  };
  const Report report = RunJob(1, 2);
  EXPECT_EQ(report.state(), "failed");
  EXPECT_THAT(report.message(), AllOf(HasSubstr("save: server 1 (ps:7001)"), HasSubstr("disk full")));
  EXPECT_EQ(Newest().manifest.step(), 3);
  script_.on_step = nullptr;
  script_.quality = {6, 7};
  EXPECT_EQ(RunJob(1, 2).state(), "finished");
}

}  // namespace
}  // namespace tessera
