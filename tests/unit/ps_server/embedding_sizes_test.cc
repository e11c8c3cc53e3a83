// Rows of any size on their whole way: memory, disk, a start after a crash, a checkpoint, other servers.
#include "tests/unit/ps_server/pushes.h"

namespace tessera {
namespace {

constexpr uint64_t kRowsInMemory = 600;

class EmbeddingSizes : public ::testing::TestWithParam<uint32_t> {
 protected:
  EmbeddingSizes() : folder_(std::filesystem::temp_directory_path() / absl::StrCat("tessera_sizes_", ::getpid())) {
    std::filesystem::remove_all(folder_);
  }
  ~EmbeddingSizes() override { std::filesystem::remove_all(folder_); }

  // A push of some thousand ids in all, to every server of each group.
  static void Push(uint64_t sequence, const std::vector<ServerGroup*>& groups) {
    const ShareGradients share = groups[0]->RandomShare(0, sequence, 500);
    for (ServerGroup* group : groups) {
      for (uint32_t s = 0; s < group->shards(); ++s) {
        PushRequest request = MakePush(*group, s, group->MakePeer(s, 1), sequence, share);
        if (group->opened_step() > 0) request.set_sequence(1);  // a restored server begins a new ledger
        PushReply reply;
        const absl::Status status = group->server(s).Push(request, &reply);
        ASSERT_TRUE(status.ok()) << status;
      }
    }
  }
  static void ExpectSame(ServerGroup* group, ServerGroup* steady) {
    const auto state = group->Pull(0, nullptr, WorldIds());
    ASSERT_TRUE(state.ok()) << state.status();
    EXPECT_TRUE(*state == *steady->Pull(0, nullptr, WorldIds()));
  }

  const std::filesystem::path folder_;
};

TEST_P(EmbeddingSizes, RowsSurviveWriteBackRestartAndRestore) {
  ServerGroup durable(1, (folder_ / "state").string()), steady(1), restored(3, (folder_ / "restored").string());
  for (ServerGroup* group : {&durable, &steady, &restored}) group->UseEmbedding(GetParam());
  // Of memory a quarter is the database's; dense variables have two states. A row has its state beside it.
  const uint64_t row_bytes = 84 + (56 + 8 * (GetParam() + 1) + 63) / 64 * 64;
  durable.UseLog(Durability::process, 16u << 20, (kRowsInMemory * row_bytes + durable.dense_floats() * 12) * 4 / 3);
  ASSERT_TRUE(durable.Open().ok());
  ASSERT_TRUE(steady.Open().ok());
  for (uint64_t sequence = 1; sequence <= 5; ++sequence) Push(sequence, {&durable, &steady});
  ASSERT_TRUE(durable.server(0).WriteBackAll().ok());
  for (uint64_t sequence = 6; sequence <= 7; ++sequence) Push(sequence, {&durable, &steady});
  const TableStatus table = durable.Describe(0).table();
  EXPECT_LT(table.memory_rows() * 2, table.rows()) << "most rows are on disk only";
  ASSERT_NO_FATAL_FAILURE(ExpectSame(&durable, &steady));

  const absl::Status recovered = durable.CrashAndRecover(0);
  ASSERT_TRUE(recovered.ok()) << recovered;
  EXPECT_GT(durable.Describe(0).durability().replayed_records(), 0u);
  ASSERT_NO_FATAL_FAILURE(ExpectSame(&durable, &steady));

  const auto saved = durable.Save((folder_ / "saved").string());
  ASSERT_TRUE(saved.ok()) << saved.status();
  const absl::Status opened = restored.Open((folder_ / "saved").string(), 2);
  ASSERT_TRUE(opened.ok()) << opened;
  EXPECT_EQ(restored.opened_rows(), table.rows());
  ASSERT_NO_FATAL_FAILURE(ExpectSame(&restored, &steady));
  // The states of the optimisers are there too.
  Push(8, {&durable, &steady, &restored});
  ASSERT_NO_FATAL_FAILURE(ExpectSame(&restored, &steady));
  ASSERT_TRUE(durable.Save((folder_ / "later").string()).ok());
  ASSERT_TRUE(restored.Save((folder_ / "later_restored").string()).ok());
  EXPECT_EQ(restored.digest(), durable.digest());
}

INSTANTIATE_TEST_SUITE_P(Floats, EmbeddingSizes, ::testing::Values(1, 3, 17, 129));

}  // namespace
}  // namespace tessera
