// Whom a server talks to, and when.
#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class PeerTest : public ::testing::Test {
 protected:
  PeerTest() : group_(2) {}
  absl::Status PullAs(const Peer& peer) {
    const Decision start = Start();
    PullRequest request = group_.MakePull(0, 1, &start);
    *request.mutable_peer() = peer;
    PullReply reply;
    return group_.server(0).Pull(request, &reply);
  }
  ServerGroup group_;
};

TEST_F(PeerTest, AServerThatIsNotOpenHoldsNothing) {
  const absl::Status status = PullAs(group_.MakePeer(0));
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("state lost"));
  EXPECT_EQ(group_.Describe(0).incarnation(), 0u);
}

TEST_F(PeerTest, AWrongPeerIsRefusedAndBothSidesAreNamed) {
  ASSERT_TRUE(group_.Open("", 5).ok());
  ASSERT_TRUE(PullAs(group_.MakePeer(0)).ok());
  struct Case {
    void (*change)(Peer*);
    const char* message;
  };
  const Case cases[] = {
      {[](Peer* p) { p->set_job("other"); }, "job other, this server has job test-job"},
      {[](Peer* p) { p->set_incarnation(4); }, "incarnation 4, this server has incarnation 5"},
      {[](Peer* p) { p->set_map_version(2); }, "partition map 2, this server has partition map 1"},
      {[](Peer* p) { p->set_shard(1); }, "shard 1 of 2, this server has shard 0 of 2"},
      {[](Peer* p) { p->set_shards(3); }, "shard 0 of 3, this server has shard 0 of 2"},
  };
  for (const Case& c : cases) {
    Peer peer = group_.MakePeer(0);
    c.change(&peer);
    const absl::Status status = PullAs(peer);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
    EXPECT_THAT(std::string(status.message()), HasSubstr("wrong peer"));
  }
}

TEST_F(PeerTest, ACallOfALaterIncarnationShowsThatThisServerIsOlderThanWhatItAcknowledged) {
  ASSERT_TRUE(group_.Open("", 5).ok());
  Peer peer = group_.MakePeer(0);
  peer.set_incarnation(6);
  const absl::Status status = PullAs(peer);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("state lost: this server was open in incarnation 6, and holds incarnation 5"));
}

TEST_F(PeerTest, EveryCallIsChecked) {
  ASSERT_TRUE(group_.Open().ok());
  Peer wrong = group_.MakePeer(0);
  wrong.set_incarnation(0);
  StageRequest stage = group_.MakeStages(0, 1, Start(), group_.RandomShare(0, 1, 3))[0];
  *stage.mutable_peer() = wrong;
  StageReply stage_reply;
  EXPECT_EQ(group_.server(0).Stage(stage, &stage_reply).code(), absl::StatusCode::kFailedPrecondition);
  PushRequest push;
  *push.mutable_peer() = wrong;
  PushReply push_reply;
  EXPECT_EQ(group_.server(0).Push(push, &push_reply).code(), absl::StatusCode::kFailedPrecondition);
  CommitRequest commit;
  *commit.mutable_peer() = wrong;
  CommitReply commit_reply;
  EXPECT_EQ(group_.server(0).Commit(commit, &commit_reply).code(), absl::StatusCode::kFailedPrecondition);
  SaveRequest save;
  *save.mutable_peer() = wrong;
  SaveReply save_reply;
  EXPECT_EQ(group_.server(0).Save(save, &save_reply).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PeerTest, ALaterIncarnationStartsFromNothing) {
  ASSERT_TRUE(group_.Open().ok());
  const ShareGradients share = group_.RandomShare(0, 1, 50);
  ASSERT_TRUE(group_.Stage(1, Start(), share).ok());
  ASSERT_TRUE(group_.Commit(Decide(1, {share})).ok());
  EXPECT_GT(group_.Describe(0).rows(), 0u);
  ASSERT_TRUE(group_.Open("", 2).ok());
  EXPECT_EQ(group_.Describe(0).rows(), 0u);
  EXPECT_EQ(group_.Describe(0).step(), 0u);
  EXPECT_EQ(group_.Describe(0).incarnation(), 2u);
}

TEST_F(PeerTest, ARepeatedOpenIsAnsweredUnlessTrainingHasBegun) {
  ASSERT_TRUE(group_.Open("", 3).ok());
  EXPECT_TRUE(group_.Open("", 3).ok());
  EXPECT_EQ(group_.Open("", 2).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(group_.Open("", 4).ok());
  ASSERT_TRUE(group_.Stage(1, Start(), group_.RandomShare(0, 1, 5)).ok());
  const absl::Status status = group_.Open("", 4);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("open in incarnation 4"));
}

TEST_F(PeerTest, AWrongTableOrVariableIsRefusedByName) {
  group_.spec().mutable_table()->mutable_segments(1)->clear_optimizer();
  EXPECT_THAT(std::string(group_.Open().message()), HasSubstr("table rows, segment embedding: has no optimizer"));
  group_.spec().mutable_table()->mutable_segments(1)->mutable_optimizer()->mutable_sgd();
  group_.spec().mutable_variables(1)->clear_initializer();
  EXPECT_THAT(std::string(group_.Open().message()), HasSubstr("variable bias: has no initializer"));
}

TEST_F(PeerTest, VariablesBeyondAllMemoryAreRefusedByName) {
  for (const uint64_t extent : {uint64_t{1} << 32, uint64_t{1} << 36, ~uint64_t{0}}) {  // 2^32 x 2^32 wraps around to nothing
    group_.spec().mutable_variables(0)->set_shape(0, extent);
    group_.spec().mutable_variables(0)->set_shape(1, extent);
    const absl::Status status = group_.Open();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("variable hidden: its shape"));
  }
}

}  // namespace
}  // namespace tessera
