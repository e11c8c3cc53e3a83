#include "ps/table/row_index.h"

#include <unordered_map>
#include <vector>

#include <gtest/gtest.h>

#include "common/random.h"

namespace tessera {
namespace {

TEST(RowIndexTest, FindsWhatWasInsertedThroughEveryGrowth) {
  IndexMemory memory;
  RowIndex index;
  index.Init(&memory, 255);
  std::vector<uint64_t> hashes;
  const auto find = [&](uint64_t hash) { return index.Find(hash, [&](uint32_t row) { return hashes[row] == hash; }); };
  EXPECT_EQ(find(1), RowIndex::kNone);
  for (uint32_t i = 0; i < 20000; ++i) {
    const uint64_t hash = Mix64(i);
    ASSERT_EQ(find(hash), RowIndex::kNone);
    hashes.push_back(hash);
    index.Insert(hash, i);
    ASSERT_EQ(find(hash), i);
    if (i % 1000 == 0) {
      for (uint32_t k = 0; k <= i; ++k) ASSERT_EQ(find(hashes[k]), k);
    }
  }
  EXPECT_EQ(index.size(), 20000u);
  size_t visited = 0;
  index.ForEach([&](uint32_t) { ++visited; });
  EXPECT_EQ(visited, 20000u);
}

TEST(RowIndexTest, TellsRowsApartWhoseHashBitsAgree) {
  IndexMemory memory;
  RowIndex index;
  index.Init(&memory, 255);
  // All equal in the bits the index keeps: only the rows themselves differ.
  std::vector<uint64_t> hashes;
  for (uint32_t i = 0; i < 100; ++i) {
    hashes.push_back(static_cast<uint64_t>(i) << 32 | 0xabcd);
    index.Insert(hashes.back(), i);
  }
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(index.Find(hashes[i], [&](uint32_t row) { return hashes[row] == hashes[i]; }), i);
  }
  EXPECT_EQ(index.Find(0xabcdull | 1ull << 60, [&](uint32_t row) { return hashes[row] == (0xabcdull | 1ull << 60); }), RowIndex::kNone);
}

TEST(RowIndexTest, TakesRowZeroAndHashZero) {
  IndexMemory memory;
  RowIndex index;
  index.Init(&memory, 255);
  index.Insert(0, 0);
  EXPECT_EQ(index.Find(0, [](uint32_t) { return true; }), 0u);
}

}  // namespace
}  // namespace tessera
