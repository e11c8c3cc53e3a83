// A log on a disk that is full: nothing is lost, nothing is written by half, and all goes on once there is room.
#include "tests/unit/ps_durability/log_fixture.h"
#include "tests/unit/ps_table/small_disk.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class LogDiskTest : public LogTest, public ::testing::WithParamInterface<bool> {
 protected:
  LogDiskTest() : disk_(root_ + "/disk", "size=16m") {
    options_.folder = root_ + "/disk/log";
    options_.bytes_max = 1u << 30;
    options_.segment_bytes = 256u << 10;
    options_.power = GetParam();
  }
  void SetUp() override {
    if (!disk_.mounted()) GTEST_SKIP() << "may not mount a file system of its own here";
  }
  void ExpectFull(const absl::Status& status) const {
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(options_.folder));
    EXPECT_THAT(std::string(status.message()), HasSubstr("the disk is full"));
  }
  SmallDisk disk_;
};

TEST_P(LogDiskTest, AFullDiskRefusesAnAppendAsAWholeAndThereIsRoomAgain) {
  ASSERT_TRUE(Open().ok());
  AppendMany(3, 5000);
  for (const uint64_t spare : {0, 4096, 100000, 300000}) {
    SCOPED_TRACE(spare);
    disk_.Fill(spare);
    absl::Status status;
    while (status.ok()) status = Append(50000);
    ExpectFull(status);
    ExpectFull(Append(50000));
    ASSERT_TRUE(log_->Sync().ok()) << "what was appended is safe";
    ASSERT_TRUE(Scan().ok());
    ASSERT_EQ(replayed_, appended_);
    // A server that is started on a full disk reads all of it, and is as full.
    const absl::Status opened = Open();
    ASSERT_TRUE(opened.ok()) << opened;
    ASSERT_EQ(replayed_, appended_);
    ExpectFull(Append(500000));
    disk_.MakeRoom();
    AppendMany(4, 50000);
    ASSERT_TRUE(Open().ok());
    ASSERT_EQ(replayed_, appended_);
  }
}

TEST_P(LogDiskTest, NoRoomToPrepareLeavesNothingAndAppendsGoOn) {
  ASSERT_TRUE(Open().ok());
  AppendMany(2, 50000);
  disk_.Fill(100000);
  ASSERT_TRUE(log_->WantsSpare());
  const size_t files = Snapshot(options_.folder).size();
  ExpectFull(log_->PrepareSpare());
  EXPECT_EQ(Snapshot(options_.folder).size(), files);
  EXPECT_FALSE(log_->WantsSpare()) << "not again for the same segment";
  AppendMany(2, 50000);
  disk_.MakeRoom();
  AppendMany(4, 50000);
  ASSERT_TRUE(log_->WantsSpare());
  ASSERT_TRUE(log_->PrepareSpare().ok());
  AppendMany(4, 50000);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(replayed_, appended_);
}

TEST_P(LogDiskTest, DroppingMakesRoomForWhatComes) {
  ASSERT_TRUE(Open().ok());
  absl::Status status;
  while (status.ok()) status = Append(50000);
  ExpectFull(status);
  const uint64_t needed = log_->next_lsn() - 10;
  ASSERT_TRUE(log_->Drop(needed).ok());
  AppendMany(100, 50000);
  ASSERT_TRUE(Open(needed).ok());
  EXPECT_EQ(replayed_, Appended(needed, needed + 109));
}

// The file that shall be used again is too small for the record, and cannot grow.
TEST_P(LogDiskTest, AFileThatCannotBeUsedAgainDoesNotStandInTheWay) {
  ASSERT_TRUE(Open().ok());
  AppendMany(25, 50000);
  const uint64_t needed = log_->next_lsn() - 1;
  ASSERT_TRUE(log_->Drop(needed).ok());
  ASSERT_GE(Snapshot(options_.folder).size(), 4u) << "files are kept to be used again";
  disk_.Fill(0);
  // It takes the room that they had, and is still too little.
  for (int i = 0; i < 8; ++i) ExpectFull(Append(8u << 20));
  disk_.MakeRoom();
  AppendMany(3, 8u << 20 >> 2);
  AppendMany(3, 50000);
  ASSERT_TRUE(Open(needed).ok());
  EXPECT_EQ(replayed_, Appended(needed, needed + 6));
}

INSTANTIATE_TEST_SUITE_P(Modes, LogDiskTest, ::testing::Bool(), [](const auto& info) { return info.param ? "power" : "process"; });

}  // namespace
}  // namespace tessera
