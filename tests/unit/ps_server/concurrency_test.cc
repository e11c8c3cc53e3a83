// Calls that overlap: nobody sees half a step, nobody waits without end.
#include <atomic>
#include <thread>

#include "ps/server/gate.h"
#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// The static analysis cannot follow entering again what is entered.
void ReadersShareAndAChangeIsAlone() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Gate gate(absl::ZeroDuration());
  ASSERT_TRUE(gate.EnterShared());
  ASSERT_TRUE(gate.EnterShared());
  EXPECT_FALSE(gate.EnterExclusive("a commit"));
  EXPECT_THAT(std::string(gate.Busy().message()), HasSubstr("2 calls are under way"));
  ASSERT_TRUE(gate.EnterShared());  // the change that gave up bars nobody
  gate.LeaveShared();
  gate.LeaveShared();
  gate.LeaveShared();
  ASSERT_TRUE(gate.EnterExclusive("a save"));
  EXPECT_FALSE(gate.EnterShared());
  EXPECT_FALSE(gate.EnterExclusive("a commit"));
  EXPECT_EQ(gate.Busy().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(gate.Busy().message()), HasSubstr("a save is under way"));
  gate.LeaveExclusive();
  EXPECT_TRUE(gate.EnterShared());
  gate.LeaveShared();
}

TEST(GateTest, ReadersShareAndAChangeIsAlone) { ReadersShareAndAChangeIsAlone(); }

TEST(GateTest, OpensForThoseWhoWait) {
  Gate gate(absl::Seconds(60));
  int inside = 0;  // guarded by the gate
  std::atomic<int> seen{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 200; ++k) {
        if (gate.EnterExclusive("a commit")) {
          ++inside;
          gate.LeaveExclusive();
        }
        if (gate.EnterShared()) {
          seen += inside > 0 ? 1 : 0;
          gate.LeaveShared();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(inside, 800);
  EXPECT_EQ(seen, 800);
}

TEST(ConcurrencyTest, PullsThatMeetACommitSeeOneWholeVersion) {
  ServerGroup serial(1), group(1, "", 2);
  ASSERT_TRUE(serial.Open().ok());
  ASSERT_TRUE(group.Open().ok());
  Decision before = Start();
  for (uint64_t step = 1; step <= 12; ++step) {
    const ShareGradients share = group.RandomShare(0, step, 1500);
    ASSERT_TRUE(serial.Stage(step, before, share).ok());
    ASSERT_TRUE(group.Stage(step, before, share).ok());
    const Decision d = Decide(step, {share});
    const PulledState wanted = serial.Pull(step + 1, &d, WorldIds()).value();
    // All carry d(t); one of them commits it.
    std::vector<absl::StatusOr<PulledState>> states(3, PulledState());
    std::vector<std::thread> threads;
    for (auto& state : states) {
      threads.emplace_back([&] { state = group.Pull(step + 1, &d, WorldIds()); });
    }
    for (std::thread& thread : threads) thread.join();
    for (const auto& state : states) {
      ASSERT_TRUE(state.ok()) << state.status();
      EXPECT_TRUE(*state == wanted) << "step " << step;
    }
    before = d;
  }
}

TEST(ConcurrencyTest, StagesOfAllSharesMayArriveTogether) {
  ServerGroup serial(1), group(1, "", 2);
  ASSERT_TRUE(serial.Open().ok());
  ASSERT_TRUE(group.Open().ok());
  Decision before = Start();
  for (uint64_t step = 1; step <= 8; ++step) {
    std::vector<ShareGradients> shares;
    for (uint32_t i = 0; i < 4; ++i) shares.push_back(group.RandomShare(i, step, 400));
    for (const ShareGradients& share : shares) ASSERT_TRUE(serial.Stage(step, before, share).ok());
    std::vector<std::thread> threads;
    std::atomic<int> accepted{0};
    for (const ShareGradients& share : shares) {
      threads.emplace_back([&] { accepted += group.Stage(step, before, share, 2).ok() ? 1 : 0; });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(accepted, 4);
    before = Decide(step, shares);
  }
  EXPECT_TRUE(group.Pull(9, &before, WorldIds()).value() == serial.Pull(9, &before, WorldIds()).value());
}

TEST(ConcurrencyTest, NoPushOfManyWorkersIsLostOrAppliedTwice) {
  ServerGroup group(1, "", 2);
  for (int i = 0; i < 2; ++i) group.spec().mutable_table()->mutable_segments(i)->mutable_optimizer()->mutable_sgd();
  group.spec().mutable_table()->mutable_segments(1)->mutable_initializer()->set_constant(0);
  for (int i = 0; i < 2; ++i) group.spec().mutable_variables(i)->mutable_optimizer()->mutable_sgd();
  ASSERT_TRUE(group.Open().ok());
  constexpr uint64_t kPushes = 20;
  std::vector<std::thread> threads;
  for (uint32_t worker = 1; worker <= 3; ++worker) {
    threads.emplace_back([&, worker] {
      ShareGradients share = group.RandomShare(0, 1, 1500);
      for (float& value : share.values) value = 1;  // whole numbers: sums do not depend on their order
      for (float& value : share.dense) value = 0;
      for (uint64_t sequence = 1; sequence <= kPushes; ++sequence) {
        PushRequest request;
        *request.mutable_peer() = group.MakePeer(0, worker);
        request.set_sequence(sequence);
        request.set_optimizer_step(sequence);
        request.set_sparse_learning_rate(1);
        request.set_dense_learning_rate(1);
        request.set_divisor(1);
        group.FillGradients(0, share, 0, 1, request.mutable_gradients());
        PushReply reply;
        for (int repeat = 0; repeat < 2; ++repeat) {
          const absl::Status status = group.server(0).Push(request, &reply);
          EXPECT_TRUE(status.ok()) << status;
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(group.Pull(0, nullptr, WorldIds()).ok());
  for (std::thread& thread : threads) thread.join();
  const PulledState state = group.Pull(0, nullptr, group.RandomShare(0, 1, 1500).ids).value();
  for (float value : state.values) ASSERT_EQ(value, -3.0f * kPushes);
  EXPECT_EQ(group.Describe(0).pushes(), 3 * kPushes);
}

}  // namespace
}  // namespace tessera
