#include "common/sightings.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "common/partition.h"
#include "common/random.h"

namespace tessera {
namespace {

// Checkpoints carry these counters: a change here makes them unreadable.
TEST(SightingsTest, CountersAreTheAgreedOnes) {
  Sightings sightings(128);
  sightings.Add(0, 1);
  sightings.Add(7, 2);
  sightings.Add(UINT64_MAX, 15);
  sightings.Add(0xbb7b4148340ac23eu, 5);
  std::vector<std::pair<size_t, int>> set;
  for (size_t i = 0; i < sightings.bytes().size(); ++i) {
    if (sightings.bytes()[i] != 0) set.push_back({i, static_cast<uint8_t>(sightings.bytes()[i])});
  }
  const std::vector<std::pair<size_t, int>> agreed = {{1, 240}, {2, 15}, {20, 32}, {28, 2},  {30, 15},   {43, 15},   {51, 2},  {62, 32},
                                                        {64, 5},  {72, 5},  {73, 1},  {81, 1}, {103, 16}, {110, 16}, {117, 80}};
  EXPECT_EQ(set, agreed);
}

TEST(SightingsTest, MemoryIsSharedByThePartitionsInPowersOfTwo) {
  EXPECT_EQ(Sightings::BytesPerPartition(0), 64u);
  EXPECT_EQ(Sightings::BytesPerPartition(kPartitions * 127), 64u);
  EXPECT_EQ(Sightings::BytesPerPartition(kPartitions * 128), 128u);
  EXPECT_EQ(Sightings::BytesPerPartition(uint64_t{32} << 20), size_t{128} << 10);
  EXPECT_EQ(Sightings::BytesPerPartition((uint64_t{32} << 20) - 1), size_t{64} << 10);
}

TEST(SightingsTest, AnIdIsNeverCountedTooFewTimes) {
  RandomSequence random(3);
  Sightings sightings(4096);
  std::unordered_map<uint64_t, uint32_t> counts;
  for (int i = 0; i < 4000; ++i) {
    const uint64_t id = Mix64(random.Below(1000));
    const uint32_t count = 1 + static_cast<uint32_t>(random.Below(3));
    sightings.Add(id, count);
    counts[id] += count;
  }
  for (const auto& [id, count] : counts) EXPECT_GE(sightings.Count(id), std::min(count, Sightings::kCountMax));
}

TEST(SightingsTest, FewIdsAreCountedExactly) {
  Sightings sightings(4096);
  for (uint64_t id = 0; id < 64; ++id) sightings.Add(Mix64(id), 1 + id % 4);
  int wrong = 0;
  for (uint64_t id = 0; id < 64; ++id) wrong += sightings.Count(Mix64(id)) != 1 + id % 4;
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(sightings.Count(Mix64(64)), 0u);
}

TEST(SightingsTest, ACountStopsAtFifteen) {
  Sightings sightings(64);
  sightings.Add(9, UINT32_MAX);
  EXPECT_EQ(sightings.Count(9), 15u);
  sightings.Add(9, 1);
  EXPECT_EQ(sightings.Count(9), 15u);
  for (int i = 0; i < 20; ++i) sightings.Add(10, 1);
  EXPECT_EQ(sightings.Count(10), 15u);
}

TEST(SightingsTest, AdditionsCommute) {
  Sightings forward(256), backward(256);
  for (uint64_t i = 0; i < 500; ++i) forward.Add(Mix64(i % 90), 1 + i % 5);
  for (uint64_t i = 500; i-- > 0;) backward.Add(Mix64(i % 90), 1 + i % 5);
  EXPECT_EQ(forward.bytes(), backward.bytes());
}

TEST(SightingsTest, CountersOfAnotherSizeAreRefused) {
  Sightings sightings(128), same(128);
  sightings.Add(5, 3);
  ASSERT_TRUE(same.Load(sightings.bytes()).ok());
  EXPECT_EQ(same.Count(5), 3u);
  EXPECT_EQ(Sightings(256).Load(sightings.bytes()).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace tessera
