// Saving stores and loading them back, at the level of rows and chunks.
#include "ps/table/saved_shards.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <gmock/gmock.h>

#include "ps/table/dense_store.h"
#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

OpenRequest MakeOpen(uint32_t shard, uint32_t shards, uint32_t embedding_dim) {
  OpenRequest open;
  open.mutable_peer()->set_shard(shard);
  open.mutable_peer()->set_shards(shards);
  open.set_seed(7);
  *open.mutable_table() = MakeTable(embedding_dim, Adagrad());
  return open;
}

// Rows trained a little, spread over `shards` stores and saved below `folder`.
void SaveTrained(uint32_t embedding_dim, uint32_t shards, const std::vector<uint64_t>& ids, const TestFolder& folder) {
  ThreadPool pool(1);
  for (uint32_t s = 0; s < shards; ++s) {
    auto db = StateDb::Create(folder / absl::StrCat("db", s)).value();
    TieredRowStore store(MakeLayout(embedding_dim, Adagrad()), &pool, db.get(), {});
    std::vector<uint64_t> own;
    for (uint64_t id : ids) {
      if (ShardOf(PartitionOf(id), shards) == s) own.push_back(id);
    }
    std::vector<float> sums(own.size() * (embedding_dim + 1));
    for (size_t i = 0; i < own.size(); ++i) sums[i * (embedding_dim + 1)] = static_cast<float>(own[i] % 1000);
    const TestGradients gradients(own, sums);
    EXPECT_TRUE(store.Update({{gradients.View()}}, Rule(0.1, 1)).ok());
    EXPECT_TRUE(WriteAll(store).ok());
    ShardRecord record;
    record.set_step(1);
    record.set_lsn(1);
    *record.mutable_opened() = MakeOpen(s, shards, embedding_dim);
    StateDb::Batch batch;
    batch.Put(MetaKey(), EncodeRecord(record));
    EXPECT_TRUE(db->Write(&batch).ok());
    const auto files = db->Checkpoint(folder / absl::StrCat("saved/shard-", s, "-of-", shards));
    EXPECT_TRUE(files.ok()) << files.status();
  }
}

std::vector<uint64_t> SomeIds(size_t count) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < count; ++i) ids.push_back(Mix64(i));
  return ids;
}

class SavedShardsDims : public ::testing::TestWithParam<uint32_t> {};

TEST_P(SavedShardsDims, RowsComeBackOnAnyNumberOfServers) {
  const uint32_t dim = GetParam();
  const std::vector<uint64_t> ids = SomeIds(2000);
  TestFolder folder(absl::StrCat("saved_shards_", dim));
  SaveTrained(dim, 2, ids, folder);
  ThreadPool pool(2);
  TieredRowStore wanted(MakeLayout(dim, Adagrad()), &pool, nullptr, {});
  std::vector<float> sums(ids.size() * (dim + 1));
  for (size_t i = 0; i < ids.size(); ++i) sums[i * (dim + 1)] = static_cast<float>(ids[i] % 1000);
  const TestGradients gradients(ids, sums);
  ASSERT_TRUE(wanted.Update({{gradients.View()}}, Rule(0.1, 1)).ok());

  const SavedShards saved = SavedShards::Open(folder / "saved").value();
  EXPECT_EQ(saved.step(), 1u);
  for (uint32_t shards : {1u, 2u, 3u}) {
    uint64_t rows = 0;
    for (uint32_t s = 0; s < shards; ++s) {
      TieredRowStore store(MakeLayout(dim, Adagrad()), &pool, nullptr, {});
      const uint32_t first = PartitionBegin(s, shards), last = PartitionBegin(s + 1, shards);
      ASSERT_TRUE(saved.ReadRows(first, last, &pool, [&](const SavedRow& row) { return store.Load(row); }).ok());
      std::vector<uint64_t> own;
      for (uint64_t id : ids) {
        if (ShardOf(PartitionOf(id), shards) == s) own.push_back(id);
      }
      EXPECT_EQ(ReadRows(store, own, UnknownRow::kZeros), ReadRows(wanted, own));
      const PartitionCounts counts = store.CountRows();
      for (uint32_t p = 0; p < kPartitions; ++p) {
        EXPECT_TRUE(counts[p] == 0 || (p >= first && p < last));
        rows += counts[p];
      }
    }
    EXPECT_EQ(rows, ids.size());
  }
}

INSTANTIATE_TEST_SUITE_P(Dims, SavedShardsDims, ::testing::Values(1, 3, 17, 129));

class SavedShardsTest : public ::testing::Test {
 protected:
  void Save(uint32_t shards) { SaveTrained(3, shards, SomeIds(500), folder_); }
  // Puts one more record into a saved shard by saving a changed database in its place.
  void Replace(uint32_t shard, uint32_t shards, const ShardRecord& record, uint64_t rows_of_42, const std::vector<SavedRow>& rows) {
    auto db = StateDb::Create(folder_ / "forged").value();
    StateDb::Batch batch;
    std::string key, value;
    for (const SavedRow& row : rows) {
      ASSERT_TRUE(EncodeRow(row, &key, &value).ok());
      batch.Put(key, value);
    }
    batch.Put(MetaKey(), EncodeRecord(record));
    const uint32_t p = PartitionOf(42);
    batch.Put(KeyBound(RecordKind::kSummary, p), EncodeSummary(p, {rows_of_42, 0, 1}));
    ASSERT_TRUE(db->Write(&batch).ok());
    ASSERT_TRUE(db->Checkpoint(folder_ / absl::StrCat("saved/shard-", shard, "-of-", shards)).ok());
  }
  TestFolder folder_{"saved_shards_test"};
  ThreadPool pool_{1};
};

TEST_F(SavedShardsTest, MissingRowsAreFound) {
  Save(1);
  ShardRecord record;
  record.set_step(1);
  *record.mutable_opened() = MakeOpen(0, 1, 3);
  const std::vector<float> floats(8);
  SavedRow row;
  row.id = 42;
  row.floats = floats;
  Replace(0, 1, record, /*rows_of_42=*/2, {row});
  const SavedShards saved = SavedShards::Open(folder_ / "saved").value();
  const absl::Status status = saved.ReadRows(0, kPartitions, &pool_, [](const SavedRow&) { return absl::OkStatus(); });
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr(absl::StrCat("partition ", PartitionOf(42), " holds 1 rows, 2 were saved")));
}

TEST_F(SavedShardsTest, RowsOfAnotherSizeAreRefusedByTheStore) {
  Save(1);
  TieredRowStore store(MakeLayout(5, Adagrad()), &pool_, nullptr, {});
  const SavedShards saved = SavedShards::Open(folder_ / "saved").value();
  const absl::Status status = saved.ReadRows(0, kPartitions, &pool_, [&](const SavedRow& row) { return store.Load(row); });
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has 8 floats, 12 are wanted"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("shard-0-of-1"));
}

TEST_F(SavedShardsTest, AShardUnderAnotherNameIsFound) {
  Save(2);
  fs::rename(folder_ / "saved/shard-0-of-2", folder_ / "saved/x");
  fs::rename(folder_ / "saved/shard-1-of-2", folder_ / "saved/shard-0-of-2");
  fs::rename(folder_ / "saved/x", folder_ / "saved/shard-1-of-2");
  const absl::Status status = SavedShards::Open(folder_ / "saved").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was saved as shard 1 of 2"));
}

TEST_F(SavedShardsTest, ReadingLeavesTheFolderAsItWas) {
  Save(1);
  const auto names = [&] {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "saved")) found.push_back(entry.path().string());
    std::sort(found.begin(), found.end());
    return found;
  };
  const std::vector<std::string> before = names();
  {
    const SavedShards saved = SavedShards::Open(folder_ / "saved").value();
    // Two servers read one folder at a time.
    const SavedShards again = SavedShards::Open(folder_ / "saved").value();
    ASSERT_TRUE(again.ReadRows(0, kPartitions, &pool_, [](const SavedRow&) { return absl::OkStatus(); }).ok());
  }
  EXPECT_EQ(names(), before);
}

TEST_F(SavedShardsTest, AStateFolderInUseIsNotTaken) {
  const auto db = StateDb::Create(folder_ / "db").value();
  const absl::Status status = StateDb::Create(folder_ / "db").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ / "db"));
  StateDb::Batch batch;
  batch.Put("k", "v");
  EXPECT_TRUE(db->Write(&batch).ok());
  EXPECT_TRUE(db->Checkpoint(folder_ / "saved/shard-0-of-1").ok());
}

TEST_F(SavedShardsTest, AFolderThatCannotBeWrittenIsNamed) {
  std::ofstream(folder_ / "file") << "in the way";
  const absl::Status status = StateDb::Create(folder_ / "file/db").status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ / "file/db"));
}

}  // namespace
}  // namespace tessera
