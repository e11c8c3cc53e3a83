#include "worker/train/batch_ahead.h"

#include <atomic>

#include "gtest/gtest.h"

namespace tessera {
namespace {

// Rows whose keys count up; fails instead of giving row `bad_row`.
class CountingStream : public RowStream {
 public:
  CountingStream(uint64_t rows, uint64_t bad_row) : rows_(rows), bad_row_(bad_row) {}

  absl::Status Next(uint64_t rows_max, Rows* rows, Position* next) override {
    rows->Clear();
    rows->fields = 1;
    for (uint64_t i = 0; i < rows_max && used_ < rows_; ++i, ++used_) {
      if (used_ == bad_row_) return absl::InvalidArgumentError("bad row");
      rows->labels.push_back(1);
      rows->ids.push_back(used_);
      rows->keys.push_back(used_);
    }
    next->set_offset(used_);
    next->set_end(used_ == rows_);
    return absl::OkStatus();
  }

 private:
  const uint64_t rows_, bad_row_;
  uint64_t used_ = 0;
};

std::unique_ptr<RowStream> Counting(uint64_t rows, uint64_t bad_row = ~uint64_t{0}) {
  return std::make_unique<CountingStream>(rows, bad_row);
}

TEST(BatchAheadTest, EveryRowComesOnceInOrderAndTheLastBatchHasTheRest) {
  BatchAhead batches(Counting(10), 4, {});
  TrainingBatch batch;
  uint64_t key = 0;
  for (size_t size : {4, 4, 2}) {
    ASSERT_TRUE(batches.Next(&batch).ok());
    ASSERT_EQ(batch.batch.size(), size);
    for (uint64_t k : batch.batch.rows.keys) EXPECT_EQ(k, key++);
    EXPECT_EQ(batch.next.offset(), key);
    EXPECT_EQ(batch.next.end(), key == 10);
  }
}

TEST(BatchAheadTest, AfterTheEndBatchesAreEmpty) {
  BatchAhead batches(Counting(3), 4, {});
  TrainingBatch batch;
  ASSERT_TRUE(batches.Next(&batch).ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(batches.Next(&batch).ok());
    EXPECT_EQ(batch.batch.size(), 0u);
    EXPECT_TRUE(batch.next.end());
  }
}

TEST(BatchAheadTest, AStreamWithoutRowsIsOneEmptyBatch) {
  BatchAhead batches(Counting(0), 4, {});
  TrainingBatch batch;
  ASSERT_TRUE(batches.Next(&batch).ok());
  EXPECT_EQ(batch.batch.size(), 0u);
  EXPECT_TRUE(batch.next.end());
}

TEST(BatchAheadTest, AnErrorComesAfterTheBatchesBeforeItAndStays) {
  BatchAhead batches(Counting(10, /*bad_row=*/6), 4, {});
  TrainingBatch batch;
  ASSERT_TRUE(batches.Next(&batch).ok());
  EXPECT_EQ(batches.Next(&batch).message(), "bad row");
  EXPECT_EQ(batches.Next(&batch).message(), "bad row");
}

TEST(BatchAheadTest, EachBatchIsShownBeforeItCanBeTaken) {
  std::atomic<uint64_t> shown = 0;
  BatchAhead batches(Counting(10), 4, {}, [&](const Batch& batch) { shown += batch.size(); });
  TrainingBatch batch;
  uint64_t taken = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(batches.Next(&batch).ok());
    taken += batch.batch.size();
    EXPECT_GE(shown, taken);
    EXPECT_LE(shown, taken + 4) << "one batch ahead";
  }
  EXPECT_EQ(shown, 10u);
}

TEST(BatchAheadTest, ItCanBeGivenUpAtAnyTime) { BatchAhead batches(Counting(1000), 4, {}); }

}  // namespace
}  // namespace tessera
