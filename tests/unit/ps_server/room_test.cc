// Memory that holds two steps is enough.
#include "tests/unit/ps_server/server_fixture.h"

namespace tessera {
namespace {

class RoomTest : public ServerTest {};

TEST_F(RoomTest, UpdatesOfHalfOfMemoryFindRoomOneAfterTheOther) {
  constexpr uint64_t kRows = 1000;
  ServerGroup group(1, folder());
  // A row takes 128 bytes and 28 for its index; a quarter of memory is the database's; dense variables have two states.
  group.UseLog(Durability::process, 16u << 20, (kRows * 156 + group.dense_floats() * 12) * 4 / 3);
  ASSERT_TRUE(group.Open().ok());
  Decision decision = Start();
  for (uint64_t step = 1; step <= 6; ++step) {
    const ShareGradients share = group.RandomShare(0, step, kRows / 2, 20000);
    const absl::Status status = group.Stage(step, decision, share);
    ASSERT_TRUE(status.ok()) << status;
    decision = Decide(step, {share});
    ASSERT_TRUE(group.Commit(decision).ok());
  }
  const TableStatus table = group.Describe(0).table();
  EXPECT_LT(table.memory_rows(), kRows * 11 / 10);
  EXPECT_GT(table.rows(), kRows * 2);
}

TEST_F(RoomTest, WhoTakesOverAShareFindsRoomThoughTheDeadFilledTheLog) {
  ServerGroup group(1, folder());
  const uint64_t row_bytes = 12 + kDim * sizeof(float);
  constexpr uint64_t kLogBytes = 1u << 20;
  const uint64_t ids = (kLogBytes / 3 - group.dense_floats() * sizeof(float)) / row_bytes;  // a share takes a third of the log
  group.UseLog(Durability::process, kLogBytes, 0);
  ASSERT_TRUE(group.Open().ok());
  const auto stage = [&](const ShareGradients& share) {
    const absl::Status status = group.Stage(1, Start(), share);
    ASSERT_TRUE(status.ok()) << "share " << share.share << ", generation " << share.generation << ": " << status;
  };
  // One share, another four times, once for each life of its worker, and a third: only so does the step come to an end.
  const ShareGradients before = group.RandomShare(1, 9, ids, 20000), after = group.RandomShare(2, 9, ids / 16, 20000);
  ShareGradients again;
  ASSERT_NO_FATAL_FAILURE(stage(before));
  for (uint64_t generation = 1; generation <= 4; ++generation) {
    again = group.RandomShare(0, generation, ids, 20000);
    again.generation = generation;
    ASSERT_NO_FATAL_FAILURE(stage(again));
  }
  ASSERT_NO_FATAL_FAILURE(stage(after));
  const Decision decision = Decide(1, {again, before, after});
  EXPECT_TRUE(group.Commit(decision).ok());
  EXPECT_TRUE(group.CrashAndRecover(0).ok());
  EXPECT_EQ(group.Describe(0).step(), 1);
}

}  // namespace
}  // namespace tessera
