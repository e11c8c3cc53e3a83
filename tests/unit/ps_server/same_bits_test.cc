// Equal gradients give equal bits, whatever the number of servers, the threads, the parts and the order in which stages arrive.
#include <algorithm>

#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

constexpr uint32_t kShares = 3;
constexpr uint64_t kSteps = 4;

struct Arrival {
  uint64_t seed = 0;   // of the order of stages
  uint32_t parts = 1;
};

class SameBitsTest : public ::testing::Test {
 protected:
  // Trains kSteps steps of kShares shares; the stages of a step arrive in a random order, share by share and server by server.
  PulledState Train(ServerGroup* group, Arrival arrival) {
    EXPECT_TRUE(group->Open().ok());
    RandomSequence random(arrival.seed);
    Decision before = Start();
    for (uint64_t step = 1; step <= kSteps; ++step) {
      std::vector<ShareGradients> shares;
      std::vector<std::pair<uint32_t, StageRequest>> calls;
      for (uint32_t i = 0; i < kShares; ++i) {
        shares.push_back(group->RandomShare(i, step, 1200));
        for (uint32_t s = 0; s < group->shards(); ++s) {
          for (StageRequest& request : group->MakeStages(s, step, before, shares.back(), arrival.parts)) {
            calls.emplace_back(s, std::move(request));
          }
        }
      }
      for (size_t i = calls.size(); arrival.seed != 0 && i > 1; --i) std::swap(calls[i - 1], calls[random.Below(i)]);
      for (const auto& [shard, request] : calls) {
        StageReply reply;
        const absl::Status status = group->server(shard).Stage(request, &reply);
        EXPECT_TRUE(status.ok()) << status;
      }
      before = Decide(step, shares);
    }
    const absl::StatusOr<PulledState> state = group->Pull(kSteps + 1, &before, WorldIds());
    EXPECT_TRUE(state.ok()) << state.status();
    return *state;
  }
  PulledState Train(uint32_t shards, int threads, Arrival arrival) {
    ServerGroup group(shards, "", threads);
    return Train(&group, arrival);
  }
};

TEST_F(SameBitsTest, AtAnyNumberOfServers) {
  const PulledState one = Train(1, 1, {});
  EXPECT_TRUE(Train(2, 1, {}) == one);
  EXPECT_TRUE(Train(3, 1, {}) == one);
}

TEST_F(SameBitsTest, AtAnyNumberOfThreads) { EXPECT_TRUE(Train(2, 3, {}) == Train(2, 1, {})); }

TEST_F(SameBitsTest, InAnyOrderOfArrival) {
  const PulledState in_order = Train(2, 1, {});
  for (uint64_t seed = 1; seed <= 4; ++seed) EXPECT_TRUE(Train(2, 1, {seed}) == in_order) << "seed " << seed;
}

TEST_F(SameBitsTest, InAnyNumberOfParts) {
  const PulledState whole = Train(1, 1, {});
  EXPECT_TRUE(Train(1, 1, {0, 2}) == whole);
  EXPECT_TRUE(Train(2, 1, {5, 7}) == whole);
}

TEST_F(SameBitsTest, AndTheyAreTheSumsInShareOrder) {
  ServerGroup group(1);
  group.spec().mutable_table()->mutable_segments(0)->mutable_optimizer()->mutable_sgd();
  ASSERT_TRUE(group.Open().ok());
  std::vector<ShareGradients> shares;
  const float terms[] = {1e8f, 1.0f, -1e8f};  // 0 in this order, 1 in another
  for (uint32_t i = 0; i < 3; ++i) {
    shares.push_back(group.RandomShare(i, 1, 0));
    shares.back().ids = {Mix64(5)};
    shares.back().values = {terms[i], 0, 0, 0};
  }
  for (uint32_t i : {2u, 0u, 1u}) ASSERT_TRUE(group.Stage(1, Start(), shares[i]).ok());
  Decision d1 = Decide(1, shares);
  EXPECT_EQ(group.Pull(2, &d1, {Mix64(5)})->values[0], 0);
}

}  // namespace
}  // namespace tessera
