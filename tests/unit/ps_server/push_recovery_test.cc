// What a server that was killed still knows of the pushes of async mode.
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/unit/ps_server/pushes.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class PushRecoveryTest : public ::testing::Test {
 protected:
  PushRecoveryTest() : folder_(std::filesystem::path(::testing::TempDir()) / absl::StrCat("push_recovery_", getpid())), group_(1, folder_.string()) {
    std::filesystem::remove_all(folder_);
    group_.UseLog(Durability::process, 16u << 20, 0);
    EXPECT_TRUE(group_.Open().ok());
  }
  ~PushRecoveryTest() override { std::filesystem::remove_all(folder_); }

  // A whole batch of worker 1, up to this row of task 5.
  PushRequest Batch(uint64_t sequence, uint64_t end_row) {
    const ShareGradients share = group_.RandomShare(0, sequence, 50);
    PushRequest push = MakePush(group_, 0, group_.MakePeer(0, 1, 1), sequence, share);
    push.set_last_part(true);
    push.mutable_task_done()->set_task(5);
    push.mutable_task_done()->set_end_row(end_row);
    return push;
  }
  PushReply Push(const PushRequest& request) {
    PushReply reply;
    const absl::Status status = group_.server(0).Push(request, &reply);
    EXPECT_TRUE(status.ok()) << status;
    return reply;
  }
  FenceReply Fence() {
    FenceRequest request;
    *request.mutable_peer() = group_.MakePeer(0, 1, 1);
    FenceReply reply;
    const absl::Status status = group_.server(0).Fence(request, &reply);
    EXPECT_TRUE(status.ok()) << status;
    return reply;
  }

  const std::filesystem::path folder_;
  ServerGroup group_;
};

TEST_F(PushRecoveryTest, AFencedWorkerStaysSoAndTheAnswerIsTheSame) {
  Push(Batch(1, 10));
  const FenceReply first = Fence();
  EXPECT_EQ(first.sequence(), 1);
  EXPECT_EQ(first.done().end_row(), 10);
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(group_.CrashAndRecover(0).ok());
    PushReply reply;
    EXPECT_THAT(group_.server(0).Push(Batch(2, 20), &reply).ToString(), HasSubstr("this generation was given up"));
    EXPECT_EQ(Fence().SerializeAsString(), first.SerializeAsString());
    ASSERT_TRUE(group_.server(0).WriteBackAll().ok());  // the next start finds no log that says so
  }
}

TEST_F(PushRecoveryTest, BatchesStayCountedAndARepeatIsAsStaleAsBefore) {
  EXPECT_EQ(Push(Batch(1, 10)).staleness(), 0);
  EXPECT_EQ(Push(Batch(2, 20)).staleness(), 1) << "it read before the first";
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(group_.CrashAndRecover(0).ok());
    EXPECT_EQ(Push(Batch(2, 20)).staleness(), 1);
    PullRequest pull;
    *pull.mutable_peer() = group_.MakePeer(0, 1, 1);
    PullReply values;
    ASSERT_TRUE(group_.server(0).Pull(pull, &values).ok());
    EXPECT_EQ(values.updates(), 2);
    ASSERT_TRUE(group_.server(0).WriteBackAll().ok());
  }
}

}  // namespace
}  // namespace tessera
