// What a stage may hold: parts, finite values, this server's ids.
#include <limits>
#include <set>

#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class StageTest : public ::testing::Test {
 protected:
  StageTest() : group_(2) {
    EXPECT_TRUE(group_.Open().ok());
    share_ = group_.RandomShare(0, 1, 60);
  }
  absl::Status Send(const StageRequest& request) {
    StageReply reply;
    return group_.server(request.peer().shard()).Stage(request, &reply);
  }
  ServerGroup group_;
  ShareGradients share_;
};

TEST_F(StageTest, IsWholeOnlyWithAllItsParts) {
  std::vector<StageRequest> parts = group_.MakeStages(0, 1, Start(), share_, 3);
  ASSERT_TRUE(Send(parts[2]).ok());
  ASSERT_TRUE(Send(parts[0]).ok());
  CommitRequest commit;
  *commit.mutable_peer() = group_.MakePeer(0);
  *commit.mutable_decision() = Decide(1, {share_});
  CommitReply reply;
  const absl::Status status = group_.server(0).Commit(commit, &reply);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("in part only"));
  ASSERT_TRUE(Send(parts[1]).ok());
  EXPECT_TRUE(group_.server(0).Commit(commit, &reply).ok());
  EXPECT_EQ(reply.step(), 1u);
}

TEST_F(StageTest, ARepeatedPartCountsOnce) {
  std::vector<StageRequest> parts = group_.MakeStages(0, 1, Start(), share_, 2);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Send(parts[1]).ok());
  EXPECT_EQ(group_.Describe(0).pushes(), 1u);
}

TEST_F(StageTest, PartNumbersMustAgree) {
  std::vector<StageRequest> parts = group_.MakeStages(0, 1, Start(), share_, 3);
  ASSERT_TRUE(Send(parts[0]).ok());
  StageRequest other = parts[1];
  other.set_parts(4);
  EXPECT_EQ(Send(other).code(), absl::StatusCode::kInvalidArgument);
  other.set_parts(1);
  EXPECT_EQ(Send(other).code(), absl::StatusCode::kInvalidArgument);
  other.set_parts(0);
  EXPECT_EQ(Send(other).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Send(parts[1]).ok());
}

TEST_F(StageTest, AGradientThatIsNotFiniteIsRefusedByNameAndNothingIsKept) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<StageRequest> parts = group_.MakeStages(0, 1, Start(), share_, 2);
    ASSERT_TRUE(Send(parts[0]).ok());
    float* values = reinterpret_cast<float*>(parts[1].mutable_gradients()->mutable_values()->data());
    const uint64_t id = PackedView<uint64_t>(parts[1].gradients().ids(), "ids").value()[3];
    values[3 * kDim + 2] = bad;
    const absl::Status status = Send(parts[1]);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(
        "stage of share 0 by worker 1 generation 1, step 1: the gradient of embedding of table rows, id ", id, ", is ")));
    // Not even the part that was well.
    CommitRequest commit;
    *commit.mutable_peer() = group_.MakePeer(0);
    *commit.mutable_decision() = Decide(1, {share_});
    CommitReply reply;
    EXPECT_THAT(std::string(group_.server(0).Commit(commit, &reply).message()), HasSubstr("is not here"));
  }
}

TEST_F(StageTest, ADenseGradientThatIsNotFiniteIsRefused) {
  StageRequest request = group_.MakeStages(0, 1, Start(), share_)[0];
  ASSERT_FALSE(request.gradients().dense().empty());
  const StageRequest sound = request;
  std::set<std::string> names;
  for (size_t at = 0; at < request.gradients().dense().size() / sizeof(float); at += 64) {
    request = sound;
    reinterpret_cast<float*>(request.mutable_gradients()->mutable_dense()->data())[at] = std::nanf("");
    const absl::Status status = Send(request);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string message(status.message());
    const size_t begin = message.find("gradient of ") + 12;
    names.insert(message.substr(begin, message.find(" is nan") - begin));
  }
  EXPECT_GT(names.size(), 1u) << "each by its name";
  for (const std::string& name : names) EXPECT_THAT(name, ::testing::AnyOf(HasSubstr("hidden["), HasSubstr("bias[")));
}

TEST_F(StageTest, AnIdOfAnotherServerIsRefused) {
  StageRequest request = group_.MakeStages(1, 1, Start(), share_)[0];
  *request.mutable_peer() = group_.MakePeer(0);
  EXPECT_EQ(Send(request).code(), absl::StatusCode::kInvalidArgument);
  PullReply reply;
  const Decision start = Start();
  uint64_t foreign = 0;
  while (ShardOf(PartitionOf(foreign), 2) == 0) ++foreign;
  const absl::Status status = group_.server(0).Pull(group_.MakePull(0, 1, &start, {foreign}), &reply);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("id ", foreign, " is in partition")));
}

TEST_F(StageTest, SizesMustFit) {
  const StageRequest good = group_.MakeStages(0, 1, Start(), share_)[0];
  StageRequest bad = good;
  bad.mutable_gradients()->mutable_values()->resize(good.gradients().values().size() - 4);
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.mutable_gradients()->mutable_values()->push_back('x');
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.mutable_gradients()->mutable_ids()->resize(12);
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.mutable_gradients()->clear_counts();
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.mutable_gradients()->clear_dense();
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.set_parts(2);
  bad.set_part(1);  // dense belongs to the first part
  EXPECT_EQ(Send(bad).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Send(good).ok());
}

TEST_F(StageTest, AShareWithoutRowsInTheStepIsRefused) {
  Decision start = Start();
  start.add_assignment()->set_share(0);
  Assignment* ended = start.add_assignment();
  ended->set_share(1);
  ended->mutable_position()->set_end(true);
  for (const uint32_t share : {1u, 2u}) {
    const absl::Status status = Send(group_.MakeStages(0, 1, start, group_.RandomShare(share, 1, 5))[0]);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("stage of share"));
  }
  EXPECT_TRUE(Send(group_.MakeStages(0, 1, start, share_)[0]).ok());
}

TEST_F(StageTest, NamesItsWorker) {
  StageRequest request = group_.MakeStages(0, 1, Start(), share_)[0];
  request.mutable_peer()->set_worker(0);
  EXPECT_EQ(Send(request).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
