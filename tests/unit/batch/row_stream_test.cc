#include "worker/batch/row_stream.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <set>

#include "common/epoch_order.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/batch/fake_input.h"
#include "tests/unit/batch/plans.h"

namespace tessera {
namespace {

Position Start(uint32_t epoch) {
  Position position;
  position.set_epoch(epoch);
  return position;
}

struct Step {
  std::vector<uint64_t> keys;
  Position next;
};

// All that follows, in pieces of `rows_max`.
std::vector<Step> ReadAll(RowStream* stream, uint64_t rows_max) {
  std::vector<Step> steps;
  for (;;) {
    Rows rows;
    Step step;
    const absl::Status status = stream->Next(rows_max, &rows, &step.next);
    if (!status.ok()) {
      ADD_FAILURE() << status;
      return steps;
    }
    step.keys = rows.keys;
    const bool end = step.next.end();
    EXPECT_TRUE(end || !step.keys.empty()) << "only the last piece may be empty";
    EXPECT_TRUE(end || step.keys.size() == rows_max) << "only the last piece may be short";
    steps.push_back(std::move(step));
    if (end) return steps;
  }
}

std::vector<uint64_t> Keys(const std::vector<Step>& steps) {
  std::vector<uint64_t> keys;
  for (const Step& step : steps) keys.insert(keys.end(), step.keys.begin(), step.keys.end());
  return keys;
}

std::vector<Step> ReadShare(const Plan& plan, std::shared_ptr<Input> input, uint32_t share, uint32_t shares, const Position& from,
                            uint64_t rows_max) {
  auto stream = RowStream::ForShare(plan, std::move(input), share, shares, from);
  if (!stream.ok()) {
    ADD_FAILURE() << stream.status();
    return {};
  }
  return ReadAll(stream->get(), rows_max);
}

// Blocks of 0 to 12 rows, a third of them empty.
std::shared_ptr<FakeInput> RandomInput(uint64_t key, size_t blocks = 40) {
  RandomSequence random(key);
  std::vector<uint32_t> rows(blocks);
  for (uint32_t& count : rows) count = random.Below(3) == 0 ? 0 : static_cast<uint32_t>(random.Below(13));
  return std::make_shared<FakeInput>(rows);
}

TEST(RowStreamTest, EveryTrainedRowComesOnceInAnEpoch) {
  for (const double holdout : {0.0, 0.3, 0.95}) {
    for (uint32_t shares = 1; shares <= 7; ++shares) {
      for (const uint64_t shuffle : {1, 5, 40, 100000}) {
        const Plan plan = MakePlanFor(shuffle, holdout);
        const auto input = RandomInput(shares);
        std::vector<uint64_t> keys;
        for (uint32_t share = 0; share < shares; ++share) {
          const auto part = Keys(ReadShare(plan, input, share, shares, Start(2), 7));
          keys.insert(keys.end(), part.begin(), part.end());
        }
        for (uint64_t key = 0; key < input->row_count(); ++key) {
          if (IsHeldOut(plan, key)) keys.push_back(key);
        }
        EXPECT_THAT(keys, testing::UnorderedElementsAreArray(AllKeys(input->row_count()))) << shares << " shares, shuffle " << shuffle;
      }
    }
  }
}

TEST(RowStreamTest, ResumedAnywhereItGoesOnAsIfNothingHadHappened) {
  const auto input = RandomInput(3, 25);
  for (const double holdout : {0.0, 0.4}) {
    for (const uint64_t shuffle : {1, 4, 13, 64, 1000}) {
      const Plan plan = MakePlanFor(shuffle, holdout);
      for (const uint64_t rows_max : {1, 3, 10}) {
        const std::vector<Step> whole = ReadShare(plan, input, 1, 2, Start(1), rows_max);
        for (size_t stop = 0; stop < whole.size(); ++stop) {
          const std::vector<Step> rest = ReadShare(plan, input, 1, 2, whole[stop].next, rows_max);
          const std::vector<Step> expected(whole.begin() + stop + 1, whole.end());
          ASSERT_EQ(Keys(rest), Keys(expected)) << "shuffle " << shuffle << ", stopped after piece " << stop << " of " << rows_max << " rows";
          for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(rest[i].next.DebugString(), expected[i].next.DebugString());
        }
      }
    }
  }
}

TEST(RowStreamTest, TheOrderDoesNotDependOnTheSizeOfThePieces) {
  const auto input = RandomInput(4);
  const Plan plan = MakePlanFor(30);
  const auto one_by_one = Keys(ReadShare(plan, input, 0, 2, Start(0), 1));
  for (const uint64_t rows_max : {2, 15, 17, 100000}) EXPECT_EQ(Keys(ReadShare(plan, input, 0, 2, Start(0), rows_max)), one_by_one);
}

TEST(RowStreamTest, EpochsSharesAndSeedsShuffleDifferentlyAndTheSameOneAlike) {
  const auto input = std::make_shared<FakeInput>(std::vector<uint32_t>(20, 10));
  const Plan plan = MakePlanFor(200);
  const auto keys = [&](const Plan& p, uint32_t epoch) { return Keys(ReadShare(p, input, 0, 1, Start(epoch), 16)); };
  EXPECT_EQ(keys(plan, 0), keys(plan, 0));
  EXPECT_NE(keys(plan, 0), keys(plan, 1));
  EXPECT_NE(keys(plan, 0), keys(MakePlanFor(200, 0, 2), 0));
  EXPECT_NE(keys(plan, 0), AllKeys(200));
}

TEST(RowStreamTest, AWindowHoldsTheNextRowsOfTheShare) {
  const auto input = RandomInput(6);
  const uint64_t window = 10;
  const auto shuffled = Keys(ReadShare(MakePlanFor(2 * window), input, 1, 2, Start(0), 4));
  const auto in_order = Keys(ReadShare(MakePlanFor(1), input, 1, 2, Start(0), 4));
  ASSERT_EQ(shuffled.size(), in_order.size());
  EXPECT_NE(shuffled, in_order);
  for (size_t begin = 0; begin < shuffled.size(); begin += window) {
    const size_t end = std::min<size_t>(begin + window, shuffled.size());
    EXPECT_EQ(std::set<uint64_t>(shuffled.begin() + begin, shuffled.begin() + end),
              std::set<uint64_t>(in_order.begin() + begin, in_order.begin() + end));
  }
}

TEST(RowStreamTest, TheEndIsToldWithTheLastRow) {
  // What follows the last row are blocks without rows, or with held-out ones only.
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const Plan plan = MakePlanFor(3, 0.6, seed);
    const auto input = RandomInput(seed, 12);
    uint64_t trained = 0;
    for (uint64_t key = 0; key < input->row_count(); ++key) trained += !IsHeldOut(plan, key);
    if (trained == 0) continue;
    const auto steps = ReadShare(plan, input, 0, 1, Start(0), 1);
    EXPECT_EQ(steps.size(), trained) << "an empty piece would follow if the end were told late";
  }
}

TEST(RowStreamTest, AShareWithoutRowsEndsAtOnce) {
  const auto input = std::make_shared<FakeInput>(std::vector<uint32_t>{5, 5});
  const auto steps = ReadShare(MakePlanFor(10), input, 3, 4, Start(0), 5);
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_TRUE(steps[0].keys.empty());
  EXPECT_TRUE(steps[0].next.end());
  EXPECT_TRUE(ReadShare(MakePlanFor(10), input, 3, 4, steps[0].next, 5)[0].next.end());
}

TEST(RowStreamTest, TasksPartitionAnEpoch) {
  const auto input = RandomInput(8);
  const Plan plan = MakePlanFor(20, 0.2);
  std::vector<uint64_t> keys;
  uint64_t task = 0;
  for (uint64_t first = 0; first < input->block_count();) {
    const uint64_t last = std::min<uint64_t>(first + 1 + first / 3, input->block_count());
    auto stream = RowStream::ForTask(plan, input, 1, ++task, first, last);
    ASSERT_TRUE(stream.ok()) << stream.status();
    const auto part = Keys(ReadAll(stream->get(), 6));
    keys.insert(keys.end(), part.begin(), part.end());
    first = last;
  }
  const auto share = Keys(ReadShare(plan, input, 0, 1, Start(1), 6));
  EXPECT_THAT(keys, testing::UnorderedElementsAreArray(share));
}

TEST(RowStreamTest, AnErrorComesInItsTurnAndStays) {
  const auto input = std::make_shared<FakeInput>(std::vector<uint32_t>(10, 4));
  const Plan plan = MakePlanFor(1);
  input->set_bad_block(EpochBlocks(plan, 10, 0)[5]);
  auto stream = RowStream::ForShare(plan, input, 0, 1, Start(0));
  ASSERT_TRUE(stream.ok());
  Rows rows;
  Position next;
  for (int i = 0; i < 19; ++i) ASSERT_TRUE((*stream)->Next(1, &rows, &next).ok()) << i;
  for (int i = 0; i < 3; ++i) EXPECT_THAT(std::string((*stream)->Next(1, &rows, &next).message()), testing::HasSubstr("is bad"));
}

TEST(RowStreamTest, APositionBeyondTheDataIsDataLoss) {
  const auto input = std::make_shared<FakeInput>(std::vector<uint32_t>(4, 4));
  Position position = Start(0);
  position.set_block(1);
  const std::vector<std::pair<uint64_t, uint64_t>> beyond = {{5, 0}, {0, 11}, {4, 9}};
  for (const auto& [row, offset] : beyond) {
    position.set_row(row);
    position.set_offset(offset);
    auto stream = RowStream::ForShare(MakePlanFor(10), input, 0, 1, position);
    ASSERT_TRUE(stream.ok());
    Rows rows;
    Position next;
    EXPECT_TRUE(absl::IsDataLoss((*stream)->Next(1, &rows, &next))) << row << " " << offset;
  }
}

TEST(RowStreamTest, ReadsAtMostAWindowAhead) {
  const uint64_t window = 50, block = 10;
  const auto input = std::make_shared<FakeInput>(std::vector<uint32_t>(400, block));
  auto stream = RowStream::ForShare(MakePlanFor(window), input, 0, 1, Start(0));
  ASSERT_TRUE(stream.ok());
  uint64_t used = 0;
  Rows rows;
  Position next;
  while (!next.end()) {
    ASSERT_TRUE((*stream)->Next(7, &rows, &next).ok());
    used += rows.size();
    // The window in use, the one ahead, and the blocks that the threads are in.
    ASSERT_LE(input->rows_read(), used + 2 * window + 6 * block);
  }
  EXPECT_EQ(used, input->row_count());
}

TEST(RowStreamTest, MayBeDroppedAtAnyTime) {
  const auto input = std::make_shared<FakeInput>(std::vector<uint32_t>(1000, 5));
  for (int i = 0; i < 50; ++i) {
    auto stream = RowStream::ForShare(MakePlanFor(40), input, 0, 1, Start(0));
    ASSERT_TRUE(stream.ok());
    Rows rows;
    Position next;
    if (i % 2 == 1) {
      ASSERT_TRUE((*stream)->Next(30, &rows, &next).ok());
    }
  }
}

}  // namespace
}  // namespace tessera
