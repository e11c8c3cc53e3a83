#include "worker/client/hints.h"


#include "common/packed.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/client/client_cluster.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;

Batch BatchOfIds(const std::vector<uint64_t>& ids) {
  Rows made;
  made.fields = 1;
  for (const uint64_t id : ids) {
    made.labels.push_back(0);
    made.keys.push_back(id);
    made.ids.push_back(id);
  }
  return MakeBatch(std::move(made));
}

// Remembers hints, and holds each until it is let go.
class HintedServer : public FakeServer {
 public:
  HintedServer(const Plan& plan, uint32_t shard, uint32_t shards) : FakeServer(plan, shard, shards) {}

  absl::Status Ahead(const AheadRequest& request, AheadReply*) override {
    const auto ids = *PackedView<uint64_t>(request.ids(), "ids");
    MutexLock lock(&mutex_);
    peers_.push_back(request.peer());
    hints_.push_back({ids.begin(), ids.end()});
    changed_.SignalAll();
    while (held_ > 0 && hints_.size() >= held_) changed_.Wait(&mutex_);
    return error_;
  }
  // From the hint of this number on, 1 is the first, calls do not return; 0: all return.
  void HoldFrom(size_t hint) {
    MutexLock lock(&mutex_);
    held_ = hint;
    changed_.SignalAll();
  }
  void Refuse(absl::Status error) {
    MutexLock lock(&mutex_);
    error_ = std::move(error);
  }
  std::vector<std::vector<uint64_t>> WaitForHints(size_t count) {
    MutexLock lock(&mutex_);
    for (int i = 0; i < 600 && hints_.size() < count; ++i) changed_.WaitWithTimeout(&mutex_, absl::Milliseconds(100));
    return hints_;
  }
  std::vector<Peer> peers() {
    MutexLock lock(&mutex_);
    return peers_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  size_t held_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  std::vector<Peer> peers_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::vector<uint64_t>> hints_ ABSL_GUARDED_BY(mutex_);
};

TEST(HintsTest, OnlySpilledServersHearOfTheirOwnIds) {
  const Plan plan = ClientPlan();
  HintedServer first(plan, 0, 2), second(plan, 1, 2);
  Peer peer;
  peer.set_job("job");
  Hints hints({&first, &second}, peer);
  hints.SetIncarnation(5);
  std::vector<uint64_t> ids, of_second;
  for (uint64_t id = 0; id < 50; ++id) {
    ids.push_back(id);
    if (ShardOf(PartitionOf(id), 2) == 1) of_second.push_back(id);
  }
  hints.Offer(BatchOfIds({1, 2, 3}));  // nothing is spilled
  hints.NoteSpilled(1, true);
  hints.Offer(BatchOfIds(ids));
  const auto sent = second.WaitForHints(1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_THAT(sent[0], ::testing::UnorderedElementsAreArray(of_second));
  EXPECT_EQ(second.peers()[0].incarnation(), 5u);
  EXPECT_EQ(second.peers()[0].shard(), 1u);
  EXPECT_EQ(second.peers()[0].shards(), 2u);
  EXPECT_TRUE(first.WaitForHints(0).empty());
}

TEST(HintsTest, TheNewestBatchTakesThePlaceOfOneNotSent) {
  HintedServer server(ClientPlan(), 0, 1);
  Hints hints({&server}, Peer());
  hints.NoteSpilled(0, true);
  server.HoldFrom(1);
  hints.Offer(BatchOfIds({1}));
  server.WaitForHints(1);
  hints.Offer(BatchOfIds({2}));  // returns, though the server does not
  hints.Offer(BatchOfIds({3}));
  server.HoldFrom(0);
  EXPECT_THAT(server.WaitForHints(2), ElementsAre(ElementsAre(1), ElementsAre(3)));
}

TEST(HintsTest, ARefusedHintChangesNothing) {
  HintedServer server(ClientPlan(), 0, 1);
  server.Refuse(absl::UnimplementedError("no hints"));
  Hints hints({&server}, Peer());
  hints.NoteSpilled(0, true);
  hints.Offer(BatchOfIds({1}));
  EXPECT_EQ(server.WaitForHints(1).size(), 1u);
  hints.Offer(BatchOfIds({2}));
  EXPECT_THAT(server.WaitForHints(2), ElementsAre(ElementsAre(1), ElementsAre(2)));
}

TEST(HintsTest, APullSaysWhetherAServerIsSpilled) {
  const Plan plan = ClientPlan();
  HintedServer server(plan, 0, 1);
  Hints hints({&server}, Peer());
  ParameterClient::Options options;
  options.job = "job";
  options.incarnation = 5;
  options.worker = 3;
  options.generation = 9;
  options.hints = &hints;
  FakeClock clock;
  ParameterClient client(plan, {&server}, options, &clock);
  PulledValues values;
  server.SetSpilled(true);
  ASSERT_TRUE(client.Pull(BatchOfIds({1}), 0, nullptr, false, &values).ok());
  hints.Offer(BatchOfIds({7}));
  EXPECT_EQ(server.WaitForHints(1).size(), 1u);
  server.SetSpilled(false);
  ASSERT_TRUE(client.Pull(BatchOfIds({1}), 0, nullptr, false, &values).ok());
  hints.Offer(BatchOfIds({8}));
  server.SetSpilled(true);
  ASSERT_TRUE(client.Pull(BatchOfIds({1}), 0, nullptr, false, &values).ok());
  hints.Offer(BatchOfIds({9}));
  EXPECT_THAT(server.WaitForHints(2), ElementsAre(ElementsAre(7), ElementsAre(9)));
}

}  // namespace
}  // namespace tessera
