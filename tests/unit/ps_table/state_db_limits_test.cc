// What StateDb does at the ends of memory and disk.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "common/random.h"
#include "ps/table/state_db.h"
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

// A file system of its own that can be filled.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const char* size) : path_(path) {
    std::filesystem::create_directories(path_);
    mounted_ = ::mount("none", path_.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  // Takes all the room there is left but `spare` bytes.
  void Fill(uint64_t spare) {
    std::ofstream(path_ + "/filler").flush();
    std::filesystem::resize_file(path_ + "/filler", 0);
    const uint64_t room = std::filesystem::space(path_).available;
    std::ofstream file(path_ + "/filler", std::ios::binary);
    file << std::string(room > spare ? room - spare : 0, 'f');
  }
  void MakeRoom() { std::filesystem::remove(path_ + "/filler"); }

 private:
  const std::string path_;
  bool mounted_ = false;
};

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
  ASSERT_EQ(found.size(), 500 * batches + 500);
  for (const auto& [n, value] : found) ASSERT_EQ(value, ValueOf(n, std::min(n / 500, batches - 1))) << n;
}

TEST(StateDbLimitsTest, AFullDiskRefusesAWriteAsAWholeAndThereIsRoomAgain) {
  const TestFolder folder("state_db");
  SmallDisk disk(folder / "disk", "size=64m");
  if (!disk.mounted()) GTEST_SKIP() << "may not mount a file system of its own here";
  { const auto db = StateDb::Create(folder / "disk/db", kSmall).value(); }
  StateDb::Batch batch;
  uint64_t batches = 0;
  for (uint64_t spare : {0, 300000, 1000000, 3000000}) {
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

}  // namespace
}  // namespace tessera
