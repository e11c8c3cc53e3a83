#include "ps/table/partitioned_ids.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "common/random.h"

namespace tessera {
namespace {

// Every id once, each among its partition's, equal partitions in the order given.
void CheckGrouping(const std::vector<uint64_t>& ids) {
  const PartitionedIds grouped(ids);
  ASSERT_EQ(grouped.size(), ids.size());
  std::vector<bool> seen(ids.size());
  for (uint32_t p = 0; p < kPartitions; ++p) {
    for (uint32_t k = grouped.begin(p); k < grouped.begin(p + 1); ++k) {
      const uint32_t position = grouped.position(k);
      EXPECT_EQ(PartitionOf(ids[position]), p);
      EXPECT_FALSE(seen[position]);
      seen[position] = true;
      EXPECT_TRUE(k == grouped.begin(p) || grouped.position(k - 1) < position);
    }
  }
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](bool s) { return s; }));
}

TEST(PartitionedIdsTest, GroupsIdsInAnyOrder) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < 5000; ++i) ids.push_back(Mix64(i % 3000));
  CheckGrouping(ids);
  std::reverse(ids.begin(), ids.end());
  CheckGrouping(ids);
  CheckGrouping({});
  CheckGrouping({7});
}

TEST(PartitionedIdsTest, LeavesIdsInPartitionOrderWhereTheyAre) {
  std::vector<uint64_t> ids;
  for (uint64_t i = 0; i < 5000; ++i) ids.push_back(Mix64(i));
  std::stable_sort(ids.begin(), ids.end(), [](uint64_t a, uint64_t b) { return PartitionOf(a) < PartitionOf(b); });
  CheckGrouping(ids);
  const PartitionedIds grouped(ids);
  for (uint32_t k = 0; k < ids.size(); ++k) ASSERT_EQ(grouped.position(k), k);
}

}  // namespace
}  // namespace tessera
