#include "worker/train/block_reader.h"

#include "gtest/gtest.h"
#include "tests/unit/train/fake_input.h"

namespace tessera {
namespace {

TEST(BlockReaderTest, BlocksComeInTheOrderAskedForAtAnyNumberOfThreads) {
  for (int threads : {1, 2, 5}) {
    FakeInput input(8);
    const std::vector<uint64_t> asked = {3, 0, 7, 5, 1, 6, 2, 4, 3};
    BlockReader reader(&input, asked, threads, nullptr);
    for (uint64_t expected : asked) {
      uint64_t block = 99;
      Rows rows;
      ASSERT_TRUE(*reader.Next(&block, &rows));
      EXPECT_EQ(block, expected);
      ASSERT_EQ(rows.size(), expected);
      for (uint64_t i = 0; i < expected; ++i) EXPECT_EQ(rows.keys[i], expected * 10 + i);
    }
    uint64_t block = 0;
    Rows rows;
    EXPECT_FALSE(*reader.Next(&block, &rows));
    EXPECT_FALSE(*reader.Next(&block, &rows));
  }
}

TEST(BlockReaderTest, OnlyWantedRowsAreKept) {
  FakeInput input(8);
  BlockReader reader(&input, {7}, 2, [](uint64_t key) { return key % 2 == 0; });
  uint64_t block = 0;
  Rows rows;
  ASSERT_TRUE(*reader.Next(&block, &rows));
  EXPECT_EQ(rows.keys, (std::vector<uint64_t>{70, 72, 74, 76}));
  EXPECT_EQ(rows.size(), 4u);
}

TEST(BlockReaderTest, AnErrorComesAfterTheBlocksBeforeItAndStays) {
  FakeInput input(8, /*bad_block=*/5);
  BlockReader reader(&input, {1, 2, 5, 3}, 3, nullptr);
  uint64_t block = 0;
  Rows rows;
  EXPECT_TRUE(*reader.Next(&block, &rows));
  EXPECT_TRUE(*reader.Next(&block, &rows));
  EXPECT_EQ(reader.Next(&block, &rows).status().message(), "block 5 is bad");
  EXPECT_EQ(reader.Next(&block, &rows).status().message(), "block 5 is bad");
}

TEST(BlockReaderTest, NoMoreBlocksAreReadAheadThanItMayHold) {
  FakeInput input(8);
  const std::vector<uint64_t> asked(100, 2);
  {
    BlockReader reader(&input, asked, 3, nullptr);
    uint64_t block = 0;
    Rows rows;
    ASSERT_TRUE(*reader.Next(&block, &rows));
  }
  EXPECT_LE(input.reads, 1 + 4);
}

TEST(BlockReaderTest, ItCanBeGivenUpAtAnyTime) {
  FakeInput input(8);
  BlockReader reader(&input, std::vector<uint64_t>(1000, 7), 4, nullptr);
}

}  // namespace
}  // namespace tessera
