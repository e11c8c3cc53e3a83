// What a log keeps, in what order, and until when.
#include "tests/unit/ps_durability/log_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class PushLogTest : public LogTest {};

TEST_F(PushLogTest, WhatIsAppendedIsReadBackInOrderAcrossSegments) {
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(log_->next_lsn(), 1u);
  for (size_t bytes : {0, 1, 7, 8, 9, 100, 959, 960, 961, 5000}) {
    const absl::Status status = Append(bytes);
    ASSERT_TRUE(status.ok()) << status;
  }
  AppendMany(30);
  EXPECT_GT(Segments().size(), 4u);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(replayed_, appended_);
  EXPECT_EQ(log_->next_lsn(), 41u);
  AppendMany(30);
  ASSERT_TRUE(Open().ok());
  EXPECT_EQ(replayed_, appended_);
}

TEST_F(PushLogTest, ReplayBeginsWhereItIsAskedTo) {
  ASSERT_TRUE(Open().ok());
  AppendMany(30);
  ASSERT_TRUE(Open(17).ok());
  EXPECT_EQ(replayed_, Appended(17, 30));
  ASSERT_TRUE(Open(31).ok());
  EXPECT_TRUE(replayed_.empty());
  EXPECT_EQ(log_->next_lsn(), 31u);
}

TEST_F(PushLogTest, AnErrorOfWhoReplaysEndsItAndChangesNothing) {
  ASSERT_TRUE(Open().ok());
  AppendMany(30);
  log_.reset();
  const auto before = Snapshot(options_.folder);
  int calls = 0;
  const auto opened = PushLog::Open(options_, 1, 1, [&](const LogRecord&) {
    return ++calls < 5 ? absl::OkStatus() : absl::InternalError("no more");
  });
  EXPECT_EQ(opened.status(), absl::InternalError("no more"));
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(Snapshot(options_.folder), before);
}

TEST_F(PushLogTest, NumbersGoOnFromWhatTheCallerKnows) {
  ASSERT_TRUE(Open(51, 51).ok());
  AppendMany(20);
  EXPECT_EQ(appended_.front().lsn, 51u);
  ASSERT_TRUE(Open(51, 51).ok());
  EXPECT_EQ(replayed_, appended_);
  EXPECT_EQ(log_->next_lsn(), 71u);
}

// As after a save whose log was lost with the power: nothing of it was needed.
TEST_F(PushLogTest, AGapBelowWhatIsNeededIsNoDamage) {
  ASSERT_TRUE(Open().ok());
  AppendMany(20);
  ASSERT_TRUE(Open(31, 31).ok());
  AppendMany(20);
  ASSERT_TRUE(Open(31, 31).ok());
  EXPECT_EQ(replayed_, Appended(31, 50));
  const absl::Status needed = Open(30, 31);
  EXPECT_TRUE(absl::IsDataLoss(needed)) << needed;
}

TEST_F(PushLogTest, WhatIsNeededIsNeverDropped) {
  RandomSequence random(5);
  options_.bytes_max = 16u << 10;
  ASSERT_TRUE(Open().ok());
  uint64_t needed = 1;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    for (uint64_t i = random.Below(12); i > 0; --i) {
      if (const absl::Status status = Append(random.Below(1500)); !status.ok()) {
        ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
        needed = log_->next_lsn() - 1;
        break;
      }
    }
    needed += random.Below(log_->next_lsn() + 1 - needed);
    ASSERT_TRUE(log_->Drop(needed).ok());
    if (random.Below(3) == 0) {
      ASSERT_TRUE(log_->PrepareSpare().ok());
    }
    if (random.Below(4) == 0) {
      ASSERT_TRUE(Open(needed, needed).ok());
    } else {
      ASSERT_TRUE(Scan(needed).ok());
    }
    ASSERT_EQ(replayed_, Appended(needed, log_->next_lsn() - 1));
    // And what is not needed goes: at most the segment that holds the oldest needed one begins before it.
    const std::vector<Place> places = Places();
    for (const Place& place : places) {
      ASSERT_TRUE(place.lsn >= needed || place.path == places.front().path) << place.lsn << " is kept, needed is " << needed;
    }
  }
  EXPECT_GT(appended_.back().lsn, 500u);
}

TEST_F(PushLogTest, WhatIsPreparedAheadBecomesTheNextSegment) {
  const auto spares = [&] {
    const auto files = Snapshot(options_.folder);
    return std::count_if(files.begin(), files.end(), [](const auto& file) { return absl::EndsWith(file.first, ".spare"); });
  };
  for (const bool power : {false, true}) {
    options_.power = power;
    ASSERT_TRUE(Open().ok());
    EXPECT_FALSE(log_->WantsSpare()) << "nothing is written yet";
    AppendMany(2, 200);
    EXPECT_TRUE(log_->WantsSpare());
    for (int repeat = 0; repeat < 2; ++repeat) {
      ASSERT_TRUE(log_->PrepareSpare().ok());
      EXPECT_FALSE(log_->WantsSpare());
      EXPECT_EQ(spares(), 1);
    }
    AppendMany(4, 200);
    EXPECT_EQ(spares(), 0);
    ASSERT_TRUE(log_->PrepareSpare().ok());
    AppendMany(1, 200);
    ASSERT_TRUE(Open().ok()) << "a log with a file of zeros beside it";
    EXPECT_EQ(replayed_, appended_);
    AppendMany(10, 200);
    ASSERT_TRUE(Open().ok());
    EXPECT_EQ(replayed_, appended_);
  }
}

TEST_F(PushLogTest, AFullLogRefusesAnAppendAsAWholeAndGoesOnOnceItIsShorter) {
  options_.bytes_max = 5000;
  ASSERT_TRUE(Open().ok());
  absl::Status status;
  while (status.ok()) status = Append(200);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(options_.folder));
  EXPECT_THAT(std::string(status.message()), HasSubstr("storage.log_per_server"));
  const uint64_t last = log_->next_lsn() - 1;
  EXPECT_EQ(log_->durable_lsn(), last);
  EXPECT_LE(log_->bytes(), options_.bytes_max);
  EXPECT_TRUE(absl::IsResourceExhausted(Append(200)));
  EXPECT_EQ(Places().back().lsn, last);
  ASSERT_TRUE(Scan().ok());
  EXPECT_EQ(replayed_, appended_);
  ASSERT_TRUE(log_->Drop(last).ok());
  AppendMany(10, 200);
  ASSERT_TRUE(Open(last).ok());
  EXPECT_EQ(replayed_, Appended(last, last + 10));
}

TEST_F(PushLogTest, ReadingChangesNothing) {
  ASSERT_TRUE(Open().ok());
  AppendMany(20);
  log_.reset();
  std::string bytes = ReadBytes(Segments().back());
  const Place torn = Places().back();
  bytes.resize(torn.end - 1);
  WriteBytes(torn.path, bytes);
  const auto before = Snapshot(options_.folder);
  ASSERT_TRUE(Scan().ok());
  EXPECT_EQ(replayed_, Appended(1, 19));
  EXPECT_EQ(Snapshot(options_.folder), before);
  options_.folder = root_ + "/nothing";
  EXPECT_TRUE(Scan().ok());
  EXPECT_TRUE(replayed_.empty());
  EXPECT_FALSE(std::filesystem::exists(options_.folder));
}

TEST_F(PushLogTest, AnAppendThatBreaksOffLeavesNothing) {
  options_.segment_bytes = 1u << 16;
  ASSERT_TRUE(Open().ok());
  AppendMany(5);
  for (size_t arrived : {size_t{0}, size_t{1}, size_t{39}, size_t{40}, size_t{300}, size_t{539}, size_t{541}}) {
    SCOPED_TRACE(arrived);
    ASSERT_TRUE(Open().ok());
    AppendMany(2);
    const Place last = Places().back();
    {
      const WriteLimit limit((last.end + 7) / 8 * 8 + arrived);
      EXPECT_FALSE(Append(500).ok());
      EXPECT_FALSE(Append(500).ok()) << "no room for another file either";
    }
    EXPECT_EQ(std::filesystem::file_size(last.path), (last.end + 7) / 8 * 8);
    AppendMany(3);
    ASSERT_TRUE(Open().ok());
    ASSERT_EQ(replayed_, appended_);
  }
}

TEST_F(PushLogTest, RemovingLeavesNoFileOfALog) {
  EXPECT_TRUE(PushLog::Remove(options_.folder).ok()) << "there is none";
  ASSERT_TRUE(Open().ok());
  AppendMany(40);
  ASSERT_TRUE(log_->Drop(30).ok());
  log_.reset();
  WriteBytes(options_.folder + "/note", "mine");
  ASSERT_TRUE(PushLog::Remove(options_.folder).ok());
  EXPECT_THAT(Snapshot(options_.folder), ::testing::ElementsAre(::testing::Pair("note", "mine")));
}

}  // namespace
}  // namespace tessera
