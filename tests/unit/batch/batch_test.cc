#include "worker/batch/batch.h"

#include <limits>
#include <map>

#include "common/partition.h"
#include "common/random.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

Rows RowsOf(std::vector<uint64_t> ids) {
  Rows rows;
  rows.fields = 1;
  rows.labels.assign(ids.size(), 0.0f);
  rows.keys.assign(ids.size(), 0);
  rows.ids = std::move(ids);
  return rows;
}

std::vector<uint64_t> RandomIds(size_t count, uint64_t distinct, uint64_t key) {
  RandomSequence random(key);
  std::vector<uint64_t> ids(count);
  for (uint64_t& id : ids) id = Mix64(random.Below(distinct));
  return ids;
}

// What the index must be, from a map.
void ExpectIndexOf(const std::vector<uint64_t>& ids, const Batch& batch) {
  std::map<uint64_t, std::vector<uint32_t>> places;
  for (size_t i = 0; i < ids.size(); ++i) places[ids[i]].push_back(static_cast<uint32_t>(i));
  ASSERT_EQ(batch.rows.ids, ids);
  ASSERT_EQ(batch.unique_ids.size(), places.size());
  ASSERT_EQ(batch.occurrence_begin.size(), places.size() + 1);
  ASSERT_EQ(batch.occurrence_begin.back(), ids.size());
  ASSERT_EQ(batch.inverse.size(), ids.size());
  for (size_t u = 0; u < batch.unique_ids.size(); ++u) {
    const std::vector<uint32_t> found(batch.occurrences.begin() + batch.occurrence_begin[u],
                                      batch.occurrences.begin() + batch.occurrence_begin[u + 1]);
    ASSERT_EQ(found, places.at(batch.unique_ids[u])) << u;
  }
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(batch.unique_ids[batch.inverse[i]], ids[i]) << i;
}

void ExpectPartitionOrder(const Batch& batch) {
  ASSERT_EQ(batch.partition_begin.size(), kPartitions + 1);
  EXPECT_EQ(batch.partition_begin[0], 0u);
  EXPECT_EQ(batch.partition_begin[kPartitions], batch.unique_ids.size());
  for (uint32_t p = 0; p < kPartitions; ++p) {
    uint32_t last = 0;
    for (uint32_t u = batch.partition_begin[p]; u < batch.partition_begin[p + 1]; ++u) {
      ASSERT_EQ(PartitionOf(batch.unique_ids[u]), p);
      const uint32_t first = batch.occurrences[batch.occurrence_begin[u]];
      ASSERT_TRUE(u == batch.partition_begin[p] || first > last) << "ids of a partition stand in the order of their first occurrence";
      last = first;
    }
  }
}

TEST(BatchTest, TheIndexAgreesWithAMap) {
  uint64_t key = 0;
  for (const size_t count : {1, 2, 7, 100, 5000, 40000}) {
    for (const uint64_t distinct : {uint64_t{1}, uint64_t{3}, uint64_t{1000}, uint64_t{1} << 40}) {
      const std::vector<uint64_t> ids = RandomIds(count, distinct, ++key);
      const Batch batch = MakeBatch(RowsOf(ids));
      ExpectIndexOf(ids, batch);
      ExpectPartitionOrder(batch);
    }
  }
}

TEST(BatchTest, EveryIdMayBeUsed) {
  const uint64_t most = std::numeric_limits<uint64_t>::max();
  const std::vector<uint64_t> ids = {0, most, 1, 0, most - 1, most, uint64_t{1} << 63, 0};
  ExpectIndexOf(ids, MakeBatch(RowsOf(ids)));
}

TEST(BatchTest, IdsThatWouldShareASlotAreKeptApart) {
  // Mix64 is a bijection: these ids are found through their hashes' low 20 bits, which are equal.
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; ids.size() < 40 && i < 100000000; ++i) {
    if ((Mix64(i) & 0xfffff) == 7) ids.push_back(i);
  }
  ASSERT_EQ(ids.size(), 40u);
  ids.insert(ids.end(), ids.begin(), ids.begin() + 20);
  ExpectIndexOf(ids, MakeBatch(RowsOf(ids)));
}

TEST(BatchTest, NoRowsMakeAnEmptyIndex) {
  const Batch batch = MakeBatch(Rows());
  EXPECT_EQ(batch.size(), 0u);
  EXPECT_TRUE(batch.unique_ids.empty());
  EXPECT_EQ(batch.occurrence_begin, std::vector<uint32_t>{0});
  ExpectPartitionOrder(batch);
}

TEST(BatchTest, ABatchDoesNotDependOnThoseBefore) {
  const std::vector<uint64_t> ids = RandomIds(3000, 500, 1);
  const Batch first = MakeBatch(RowsOf(ids));
  MakeBatch(RowsOf(RandomIds(100000, uint64_t{1} << 50, 2)));  // the table grows
  const Batch second = MakeBatch(RowsOf(ids));
  EXPECT_EQ(first.unique_ids, second.unique_ids);
  EXPECT_EQ(first.inverse, second.inverse);
  EXPECT_EQ(first.occurrences, second.occurrences);
}

}  // namespace
}  // namespace tessera
