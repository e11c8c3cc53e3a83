// What StateDb does at the ends of memory and disk.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/clock.h"
#include "common/fault_point.h"
#include "common/random.h"
#include "ps/table/state_db.h"
#include "tests/unit/ps_table/small_disk.h"
#include "tests/unit/ps_table/state_db_fixture.h"
#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {
namespace {

TEST(StateDbLimitsTest, MemoryStaysWithinItsBudget) {
  constexpr StateDbOptions kOptions{.memory_bytes = 16u << 20};
  constexpr uint64_t kRows = 1000000;
  const TestFolder folder("state_db");
  const auto db = StateDb::Create(folder / "db", kOptions).value();
  RandomSequence random(3);
  uint64_t highest = 0;
  StateDb::Batch batch;
  const std::string value(kValueBytes, 'v');
  for (uint64_t i = 0; i < kRows; ++i) {
    batch.Put(NumberKey(Mix64(i)), value);
    if (batch.bytes() < (1u << 19)) continue;
    ASSERT_TRUE(db->Write(&batch).ok());
    batch.Clear();
    highest = std::max(highest, db->memory_bytes());
  }
  ASSERT_TRUE(db->Flush().ok());
  for (int round = 0; round < 20; ++round) {
    std::vector<uint64_t> numbers;
    for (int i = 0; i < 2000; ++i) numbers.push_back(Mix64(random.Below(kRows - 5000)));
    std::sort(numbers.begin(), numbers.end());
    EXPECT_EQ(Find(*db, numbers).size(), numbers.size());
    highest = std::max(highest, db->memory_bytes());
  }
  EXPECT_LE(highest, kOptions.memory_bytes);
  EXPECT_GT(highest, kOptions.memory_bytes / 2);  // it is counted at all
  EXPECT_GT(db->disk_bytes(), kRows * kValueBytes * 9 / 10);
}

// Batch b puts 1000 keys from 500 b on, so half of each batch is written again by the next one and files are merged.
void FillBatch(uint64_t b, StateDb::Batch* batch) {
  batch->Clear();
  for (uint64_t n = 500 * b; n < 500 * b + 1000; ++n) batch->Put(NumberKey(n), ValueOf(n, b));
}

// Batches [0, batches) are there and nothing else.
void CheckBatches(const StateDb& db, uint64_t batches) {
  std::vector<uint64_t> numbers(500 * batches + 1000);
  for (uint64_t n = 0; n < numbers.size(); ++n) numbers[n] = n;
  const auto found = Find(db, numbers);
  ASSERT_EQ(found.size(), batches == 0 ? 0 : 500 * batches + 500);
  for (const auto& [n, value] : found) ASSERT_EQ(value, ValueOf(n, std::min(n / 500, batches - 1))) << n;
}

TEST(StateDbLimitsTest, AFullDiskRefusesAWriteAsAWholeAndThereIsRoomAgain) {
  const TestFolder folder("state_db");
  SmallDisk disk(folder / "disk", "size=64m");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount a file system of its own here";
  { const auto db = StateDb::Create(folder / "disk/db", kSmall).value(); }
  StateDb::Batch batch;
  uint64_t batches = 0;
  for (uint64_t spare : {0, 1000000, 6000000}) {
    SCOPED_TRACE(spare);
    auto db = StateDb::Open(folder / "disk/db", kSmall).value();
    disk.Fill(spare);
    absl::Status status;
    for (int i = 0; i < 300; ++i) {
      FillBatch(batches, &batch);
      status = db->Write(&batch);
      if (!status.ok()) break;
      ++batches;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(folder / "disk/db"));
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("make room"));
    EXPECT_EQ(db->Flush().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(db->Write(&batch).code(), absl::StatusCode::kResourceExhausted);
    CheckBatches(*db, batches);
    disk.MakeRoom();
    status = db->Write(&batch);
    ASSERT_TRUE(status.ok()) << status;
    ++batches;
    CheckBatches(*db, batches);
    status = db->Flush();
    ASSERT_TRUE(status.ok()) << status;
    db.reset();
    CheckBatches(*StateDb::Open(folder / "disk/db", kSmall).value(), batches);
  }
}

// Fills the disk when RocksDB next begins to write a file. One owner; the database outlives it.
class FillLater {
 public:
  explicit FillLater(SmallDisk* disk) {
    SetFaultPoint([this, disk](absl::string_view name) {
      const int64_t spare = (name == "db.flush" || name == "db.compaction") ? spare_.exchange(-1) : -1;
      if (spare >= 0) disk->Fill(static_cast<uint64_t>(spare));
    });
  }
  ~FillLater() { SetFaultPoint({}); }
  void Arm(uint64_t spare) { spare_ = static_cast<int64_t>(spare); }
  void Disarm() { spare_ = -1; }

 private:
  std::atomic<int64_t> spare_{-1};
};

TEST(StateDbLimitsTest, ADiskThatFillsUnderAFlushAndAgainWhileThatIsMadeUpForLosesNothing) {
  const TestFolder folder("state_db");
  SmallDisk disk(folder / "disk", "size=64m");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount a file system of its own here";
  auto db = StateDb::Create(folder / "disk/db", kSmall).value();
  RandomSequence random(5);
  StateDb::Batch batch;
  uint64_t batches = 0;
  absl::Duration longest;
  const auto write = [&] {
    FillBatch(batches, &batch);
    const absl::Time begin = Clock::Real()->Now();
    const absl::Status status = db->Write(&batch);
    longest = std::max(longest, Clock::Real()->Now() - begin);
    batches += status.ok() ? 1 : 0;
    EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    return status.ok();
  };
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(round);
    {
      FillLater later(&disk);
      later.Arm(random.Below(400000));
      for (int i = 0; i < 40 && write(); ++i) continue;
      // Up to three times more while the database goes on.
      for (uint64_t again = random.Below(4); again > 0; --again) {
        disk.MakeRoom();
        later.Arm(random.Below(400000));
        write();
      }
      later.Disarm();
      CheckBatches(*db, batches);
      disk.MakeRoom();
      int refused = 0;
      while (refused < 100 && !write()) ++refused;
      ASSERT_LT(refused, 100) << "there is room, and nothing is written";
    }
    CheckBatches(*db, batches);
  }
  const absl::Status status = db->Flush();
  ASSERT_TRUE(status.ok()) << status;
  // Every wait has a deadline.
  EXPECT_LT(longest, absl::Seconds(60));
  db.reset();
  CheckBatches(*StateDb::Open(folder / "disk/db", kSmall).value(), batches);
}

}  // namespace
}  // namespace tessera
