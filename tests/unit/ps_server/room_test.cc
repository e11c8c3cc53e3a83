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

}  // namespace
}  // namespace tessera
