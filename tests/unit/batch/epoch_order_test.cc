#include <algorithm>
#include <set>

#include "common/epoch_order.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/batch/plans.h"
#include "worker/batch/row_stream.h"

namespace tessera {
namespace {

TEST(EpochBlocksTest, AreAPermutationOfTheirOwnInEachEpoch) {
  const Plan plan = MakePlanFor(1);
  const auto first = EpochBlocks(plan, 100, 0);
  EXPECT_THAT(first, testing::UnorderedElementsAreArray(AllKeys(100)));
  EXPECT_EQ(first, EpochBlocks(plan, 100, 0));
  EXPECT_NE(first, EpochBlocks(plan, 100, 1));
  EXPECT_NE(first, EpochBlocks(MakePlanFor(1, 0, 2), 100, 0));
  EXPECT_TRUE(EpochBlocks(plan, 0, 0).empty());
}

TEST(EpochBlocksTest, KeepTheBlocksOfAStreamedFileInOrderAndTogether) {
  Plan plan = MakePlanFor(1);
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(64 << 20);
  const auto add = [&](Codec codec, uint64_t bytes) {
    plan.add_train()->set_codec(codec);
    plan.mutable_train(plan.train_size() - 1)->set_plain_bytes(bytes);
  };
  add(gzip, uint64_t{100} << 20);       // blocks 0, 1: small enough to be kept whole
  add(zstd, (uint64_t{640} << 20) + 1);  // blocks 2 .. 12
  add(Codec::plain, uint64_t{640} << 20);  // blocks 13 .. 22
  add(gzip, uint64_t{300} << 20);       // blocks 23 .. 27
  std::set<bool> order_of_files;
  for (uint32_t epoch = 0; epoch < 20; ++epoch) {
    const auto blocks = EpochBlocks(plan, 28, epoch);
    EXPECT_THAT(blocks, testing::UnorderedElementsAreArray(AllKeys(28)));
    const auto second = std::find(blocks.begin(), blocks.end(), 2);
    const auto fourth = std::find(blocks.begin(), blocks.end(), 23);
    for (uint64_t i = 0; i < 11; ++i) EXPECT_EQ(second[i], 2 + i);
    for (uint64_t i = 0; i < 5; ++i) EXPECT_EQ(fourth[i], 23 + i);
    order_of_files.insert(second < fourth);
  }
  EXPECT_EQ(order_of_files.size(), 2u);
  EXPECT_THAT(StreamedFiles(plan), testing::ElementsAre(false, true, false, true));
  // Of many files that would be kept each, only as many are as there is room for together.
  for (int i = 0; i < 5; ++i) add(gzip, uint64_t{200} << 20);
  EXPECT_THAT(StreamedFiles(plan), testing::ElementsAre(false, true, false, true, false, false, false, false, true));
}

TEST(IsHeldOutTest, TakesAboutTheAskedPartAndTheSameRowsAlways) {
  const Plan plan = MakePlanFor(1, 0.1);
  uint64_t held_out = 0;
  for (uint64_t key = 0; key < 100000; ++key) held_out += IsHeldOut(plan, key);
  EXPECT_NEAR(static_cast<double>(held_out), 10000, 500);
  for (uint64_t key = 0; key < 1000; ++key) {
    EXPECT_FALSE(IsHeldOut(MakePlanFor(1, 0), key));
    EXPECT_TRUE(!IsHeldOut(plan, key) || IsHeldOut(MakePlanFor(1, 0.2), key)) << "a larger part holds the smaller one";
  }
}

}  // namespace
}  // namespace tessera
