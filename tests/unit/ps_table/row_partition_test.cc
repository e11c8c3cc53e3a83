// Which rows are written, in what order, and what is known of those that are not.
#include "ps/table/row_partition.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {
namespace {

constexpr uint64_t kAll = std::numeric_limits<uint64_t>::max();

class RowPartitionTest : public ::testing::Test {
 protected:
  void Init(uint32_t rows_max) { partition_.Init(0, &slabs_, &index_memory_, rows_max); }
  uint32_t Insert(uint64_t id) { return partition_.Insert(id, Mix64(id), /*must=*/true); }
  uint32_t Find(uint64_t id) const { return partition_.Find(id, Mix64(id)); }
  // As reading and an update of the record `lsn`.
  void Change(uint64_t id, uint64_t lsn) {
    uint32_t row = Find(id);
    if (row == RowPartition::kNone) {
      row = Insert(id);
    } else {
      RowPartition::Heat(partition_.At(row));
    }
    partition_.At(row)->header.lsn = lsn;
    partition_.MarkDirty(row, lsn);
  }
  // The ids of what `take` gives, which are then on disk.
  std::vector<uint64_t> Write(const std::function<bool(RowPartition::DirtyRow*)>& take) {
    std::vector<RowPartition::DirtyRow> taken;
    std::vector<uint64_t> ids;
    for (RowPartition::DirtyRow dirty; take(&dirty);) {
      taken.push_back(dirty);
      ids.push_back(partition_.At(dirty.row)->id);
      partition_.At(dirty.row)->Set(MemoryRow::kOnDisk);
    }
    for (const RowPartition::DirtyRow& dirty : taken) partition_.Written(dirty);
    return ids;
  }
  std::vector<uint64_t> WriteLeaving() {
    return Write([this](RowPartition::DirtyRow* dirty) { return partition_.TakeLeaving(dirty); });
  }

  RowSlabs slabs_{sizeof(MemoryRow) + 8};
  IndexMemory index_memory_;
  RowPartition partition_;
};

TEST_F(RowPartitionTest, RowsThatChangeAllTheTimeAreHardlyWrittenForOthersToLeave) {
  constexpr uint64_t kHot = 600, kColdPerStep = 20, kSteps = 500;
  Init(1000);
  uint64_t cold = kHot, written = 0, hot_written = 0;
  for (uint64_t lsn = 1; lsn <= kSteps; ++lsn) {
    for (uint64_t id = 0; id < kHot; ++id) Change(id, lsn);
    for (uint64_t i = 0; i < kColdPerStep; ++i) Change(cold++, lsn);
    for (uint64_t id : WriteLeaving()) {
      ++written;
      if (id < kHot) ++hot_written;  // it has just come to the main queue
    }
  }
  EXPECT_LT(hot_written, kHot);  // of kHot * kSteps changes
  EXPECT_LE(written - hot_written, kColdPerStep * kSteps);
  EXPECT_LE(partition_.live(), 1000u);
  for (uint64_t id = 0; id < kHot; ++id) EXPECT_NE(Find(id), RowPartition::kNone);
}

TEST_F(RowPartitionTest, WhileThereIsRoomNothingLeaves) {
  Init(1000);
  for (uint64_t id = 0; id < 900; ++id) Change(id, id + 1);
  EXPECT_TRUE(WriteLeaving().empty());
}

TEST_F(RowPartitionTest, ColdRowsAreThoseThatWereNotChangedLately) {
  Init(0);
  for (uint64_t id = 0; id < 1000; ++id) Change(id, id + 1);
  for (uint64_t id = 0; id < 500; ++id) Change(id, 1000 + id);
  const uint64_t lsn = partition_.LastChanged(0.25);
  EXPECT_NEAR(static_cast<double>(lsn), 750, 40);
  size_t at = 0;
  std::vector<uint64_t> ids = Write([&](RowPartition::DirtyRow* dirty) { return partition_.TakeCold(lsn, &at, dirty); });
  EXPECT_EQ(ids.size(), lsn - 500);
  for (uint64_t id : ids) EXPECT_GE(id, 500u);
}

TEST_F(RowPartitionTest, RowsWrittenAgainAndAgainLeaveNoEntriesBehind) {
  Init(0);
  Change(0, 1);  // never written, so it stays the oldest
  const uint64_t bytes = partition_.bytes();
  for (uint64_t lsn = 2; lsn < 5000; ++lsn) {
    Change(1, lsn);
    size_t at = 1;
    EXPECT_EQ(Write([&](RowPartition::DirtyRow* dirty) { return partition_.TakeCold(kAll, &at, dirty); }).size(), 1u);
  }
  EXPECT_EQ(partition_.OldestDirty(), 1u);
  EXPECT_LT(partition_.bytes(), bytes + 300 * sizeof(RowPartition::DirtyRow));
}

// Whatever is taken in whatever order, written or not: no change is forgotten, and none passes for older than it is.
class RowPartitionModel : public RowPartitionTest, public ::testing::WithParamInterface<uint64_t> {};

TEST_P(RowPartitionModel, NoChangeIsForgotten) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam()));
  RandomSequence random(GetParam());
  Init(GetParam() % 2 == 0 ? 0 : 200);
  std::map<uint64_t, uint64_t> first_lsn;  // by id: of the oldest change that is not on disk
  for (uint64_t lsn = 1; lsn < 3000; ++lsn) {
    for (uint64_t i = random.Below(20); i > 0; --i) {
      const uint64_t id = random.Below(2) == 0 ? random.Below(50) : random.Below(2000);
      Change(id, lsn);
      first_lsn.try_emplace(id, lsn);
    }
    const uint64_t which = random.Below(3), lsn_max = lsn - random.Below(20);
    size_t at = 0;
    std::vector<RowPartition::DirtyRow> taken;
    std::map<uint64_t, uint64_t> changed_meanwhile;
    RowPartition::DirtyRow dirty;
    for (uint64_t left = random.Below(60); left > 0; --left) {
      if (!(which == 0 ? partition_.TakeDirty(lsn_max, &dirty) : which == 1 ? partition_.TakeLeaving(&dirty) : partition_.TakeCold(lsn_max, &at, &dirty))) break;
      ASSERT_EQ(first_lsn.count(partition_.At(dirty.row)->id), 1u);
      taken.push_back(dirty);
    }
    ++lsn;
    for (const RowPartition::DirtyRow& one : taken) {
      if (random.Below(4) != 0) continue;
      partition_.At(one.row)->header.lsn = lsn;
      partition_.MarkDirty(one.row, lsn);
      changed_meanwhile[partition_.At(one.row)->id] = lsn;
    }
    const bool written = random.Below(3) != 0;
    if (!written) std::reverse(taken.begin(), taken.end());
    for (const RowPartition::DirtyRow& one : taken) {
      const uint64_t id = partition_.At(one.row)->id;
      if (!written) {
        partition_.NotWritten(one);
        continue;
      }
      partition_.At(one.row)->Set(MemoryRow::kOnDisk);
      partition_.Written(one);
      first_lsn.erase(id);
      if (changed_meanwhile.count(id) > 0) first_lsn[id] = lsn;
    }
    ASSERT_EQ(partition_.dirty(), first_lsn.size());
    for (const auto& [id, oldest] : first_lsn) ASSERT_LE(partition_.OldestDirty(), oldest) << "id " << id << ", record " << lsn;
  }
  std::set<uint64_t> ids;
  for (uint64_t id : Write([&](RowPartition::DirtyRow* dirty) { return partition_.TakeDirty(kAll, dirty); })) ids.insert(id);
  EXPECT_EQ(ids.size(), first_lsn.size());
  for (const auto& [id, oldest] : first_lsn) EXPECT_EQ(ids.count(id), 1u);
  EXPECT_EQ(partition_.OldestDirty(), RowStore::kNothingDirty);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RowPartitionModel, ::testing::Range<uint64_t>(1, 41));

}  // namespace
}  // namespace tessera
