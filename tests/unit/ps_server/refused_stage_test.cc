// A stage of which a part was refused, and a server that ends without a word: what is staged after it is what would have been staged.
#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// A server with a log, and one that never ends; both hear the same calls.
class RefusedStageTest : public ServerTest, public ::testing::WithParamInterface<Durability> {
 protected:
  RefusedStageTest() : durable_(1, folder()), steady_(1) {
    durable_.UseLog(GetParam(), 64u << 20, 0);
    EXPECT_TRUE(durable_.Open().ok());
    EXPECT_TRUE(steady_.Open().ok());
  }

  std::vector<StageRequest> Parts(uint64_t key, uint32_t parts, uint64_t generation = 1) {
    ShareGradients share = durable_.RandomShare(0, key, 60);
    share.generation = generation;
    return durable_.MakeStages(0, 1, Start(), share, parts);
  }
  void Send(const StageRequest& request) {
    for (ServerGroup* group : {&durable_, &steady_}) {
      StageReply reply;
      const absl::Status status = group->server(0).Stage(request, &reply);
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  void SendRefused(StageRequest request) {
    reinterpret_cast<float*>(request.mutable_gradients()->mutable_values()->data())[3] = std::nanf("");
    for (ServerGroup* group : {&durable_, &steady_}) {
      StageReply reply;
      EXPECT_TRUE(absl::IsInvalidArgument(group->server(0).Stage(request, &reply)));
    }
  }
  void Crash() {
    const absl::Status status = durable_.CrashAndRecover(0);
    ASSERT_TRUE(status.ok()) << status;
  }
  void CommitAndCompare(uint64_t generation = 1) {
    ShareGradients winner;
    winner.generation = generation;
    const Decision decision = Decide(1, {winner});
    for (ServerGroup* group : {&durable_, &steady_}) {
      const absl::Status status = group->Commit(decision);
      ASSERT_TRUE(status.ok()) << status;
    }
    const auto wanted = steady_.Pull(2, &decision, WorldIds());
    for (int i = 0; i < 2; ++i) {
      const auto kept = durable_.Pull(2, &decision, WorldIds());
      ASSERT_TRUE(kept.ok()) << kept.status();
      EXPECT_EQ(kept->values, wanted->values);
      EXPECT_EQ(kept->dense, wanted->dense);
      ASSERT_NO_FATAL_FAILURE(Crash());
    }
  }

  ServerGroup durable_;
  ServerGroup steady_;
};

TEST_P(RefusedStageTest, NothingOfItComesBack) {
  ASSERT_NO_FATAL_FAILURE(Send(Parts(1, 2)[0]));
  SendRefused(Parts(1, 2)[1]);
  ASSERT_NO_FATAL_FAILURE(Crash());
  ShareGradients winner;
  const absl::Status missing = durable_.Commit(Decide(1, {winner}));
  EXPECT_TRUE(absl::IsDataLoss(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("is not here"));
}

TEST_P(RefusedStageTest, WhatIsStagedInItsPlaceCountsWhereverTheServerEnded) {
  for (int crash_before = 0; crash_before < 4; ++crash_before) {
    SCOPED_TRACE(crash_before);
    ASSERT_TRUE(durable_.Open("", 2 + static_cast<uint64_t>(crash_before)).ok());
    ASSERT_TRUE(steady_.Open("", 2 + static_cast<uint64_t>(crash_before)).ok());
    ASSERT_NO_FATAL_FAILURE(Send(Parts(1, 2)[0]));
    if (crash_before == 0) Crash();
    ASSERT_FALSE(HasFatalFailure());
    SendRefused(Parts(1, 2)[1]);
    if (crash_before == 1) Crash();
    ASSERT_FALSE(HasFatalFailure());
    // Other gradients than before: the first part is new, not a repeat.
    const std::vector<StageRequest> again = Parts(2, 2);
    ASSERT_NO_FATAL_FAILURE(Send(again[0]));
    if (crash_before == 2) Crash();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_NO_FATAL_FAILURE(Send(again[1]));
    if (crash_before == 3) Crash();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_NO_FATAL_FAILURE(CommitAndCompare());
  }
}

TEST_P(RefusedStageTest, ItMayComeInOtherPartsThen) {
  const std::vector<StageRequest> first = Parts(1, 4);
  for (int part : {0, 1, 3}) ASSERT_NO_FATAL_FAILURE(Send(first[static_cast<size_t>(part)]));
  SendRefused(first[2]);
  for (const StageRequest& part : Parts(2, 2)) ASSERT_NO_FATAL_FAILURE(Send(part));
  ASSERT_NO_FATAL_FAILURE(Crash());
  ASSERT_NO_FATAL_FAILURE(CommitAndCompare());
}

// At most four attempts are staged at a time; those that were dropped do not count, before a crash or after.
TEST_P(RefusedStageTest, DroppedAttemptsLeaveRoomForOthers) {
  for (uint64_t generation = 1; generation <= 9; ++generation) {
    const std::vector<StageRequest> parts = Parts(generation, 2, generation);
    ASSERT_NO_FATAL_FAILURE(Send(parts[0]));
    // Three of nine stay.
    if (generation <= 6) SendRefused(parts[1]);
  }
  ASSERT_NO_FATAL_FAILURE(Crash());
  ASSERT_NO_FATAL_FAILURE(Send(Parts(8, 2, 8)[1]));
  ASSERT_NO_FATAL_FAILURE(CommitAndCompare(8));
}

INSTANTIATE_TEST_SUITE_P(Durabilities, RefusedStageTest, ::testing::Values(Durability::process, Durability::power),
                         [](const auto& info) { return Durability_Name(info.param); });

}  // namespace
}  // namespace tessera
