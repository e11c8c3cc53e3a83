// Where a process or the power ended in the middle of a write, the log ends before it, and goes on from there.
#include "tests/unit/ps_durability/log_fixture.h"

namespace tessera {
namespace {

// What may stand where the rest of a record should.
enum class Rest { kNothing, kZeros, kGarbage };

class TornTailTest : public LogTest, public ::testing::WithParamInterface<bool> {
 protected:
  TornTailTest() {
    options_.power = GetParam();
    options_.segment_bytes = 4000;
  }

  // The last segment as it would be if of its bytes from `cut` on something else had arrived.
  static std::string Torn(const std::string& bytes, size_t cut, Rest rest) {
    std::string torn = bytes.substr(0, cut);
    if (rest == Rest::kZeros) torn.resize(bytes.size());
    if (rest == Rest::kGarbage) torn += BodyOf(cut, bytes.size() - cut);
    return torn;
  }
};

TEST_P(TornTailTest, ARecordCutAtAnyByteEndsTheLogAndTheNextTakesItsPlace) {
  ASSERT_TRUE(Open().ok());
  AppendMany(12, 43);
  log_.reset();
  const std::vector<Logged> all = appended_;
  const Place last = Places().back();
  const std::string whole = ReadBytes(last.path);
  for (const Rest rest : {Rest::kNothing, Rest::kZeros, Rest::kGarbage}) {
    for (size_t cut = last.begin; cut <= last.end; ++cut) {
      SCOPED_TRACE(absl::StrCat("rest ", static_cast<int>(rest), ", cut at byte ", cut - last.begin));
      std::filesystem::remove_all(options_.folder);
      std::filesystem::create_directories(options_.folder);
      WriteBytes(last.path, Torn(whole, cut, rest));
      // Its padding may be missing: it counts all the same.
      const uint64_t kept = cut == last.end ? 12 : 11;
      const absl::Status status = Open();
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_EQ(replayed_, std::vector<Logged>(all.begin(), all.begin() + static_cast<long>(kept)));
      ASSERT_EQ(log_->next_lsn(), kept + 1);
      appended_ = replayed_;
      AppendMany(3, 71);
      const absl::Status again = Open();
      ASSERT_TRUE(again.ok()) << again;
      ASSERT_EQ(replayed_, appended_);
    }
  }
}

// Between any two of its steps.
TEST_P(TornTailTest, ASegmentThatWasBeingMadeHoldsNothing) {
  ASSERT_TRUE(Open().ok());
  AppendMany(60);
  const std::vector<Logged> all = appended_;
  log_.reset();
  const std::string next = PathOf(Segments().size() + 1);
  const std::string header = ReadBytes(Segments().back()).substr(0, kSegmentHeaderBytes);
  for (const std::string& bytes : {std::string(), std::string(20, '\0'), std::string(4040, '\0'), header.substr(0, 17), BodyOf(3, 4040)}) {
    SCOPED_TRACE(bytes.size());
    appended_ = all;
    const auto before = Snapshot(options_.folder);
    WriteBytes(next, bytes);
    const absl::Status status = Open();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(replayed_, all);
    AppendMany(30);
    ASSERT_TRUE(Open().ok());
    ASSERT_EQ(replayed_, appended_);
    log_.reset();
    std::filesystem::remove_all(options_.folder);
    std::filesystem::create_directories(options_.folder);
    for (const auto& [name, contents] : before) WriteBytes(options_.folder + "/" + name, contents);
  }
}

// Dropped files are used again. The process ends right between the new name and the new header, each time: what the file held before must
// not come back, nor stand in the way.
TEST_P(TornTailTest, AFileThatWasBeingUsedAgainHoldsNothing) {
  int snapshots = 0;
  std::string before;
  const auto take = [&](absl::string_view point) {
    if (point != "log.begin_segment") return;
    std::filesystem::copy(options_.folder, absl::StrCat(root_, "/", ++snapshots));
  };
  ASSERT_TRUE(Open().ok());
  std::vector<uint64_t> last_lsns, needed_lsns;
  uint64_t needed = 1;
  for (int round = 0; round < 12; ++round) {
    AppendMany(40);
    // All of it, or all but the last few.
    needed = log_->next_lsn() - static_cast<uint64_t>(round % 2 * 5);
    ASSERT_TRUE(log_->Drop(needed).ok());
    SetFaultPoint(take);
    ASSERT_TRUE(Append(100).ok());
    SetFaultPoint({});
    last_lsns.resize(static_cast<size_t>(snapshots), log_->next_lsn() - 2);
    needed_lsns.resize(static_cast<size_t>(snapshots), needed);
  }
  ASSERT_GE(snapshots, 6);
  log_.reset();
  const std::vector<Logged> all = appended_;
  for (int i = 1; i <= snapshots; ++i) {
    SCOPED_TRACE(i);
    options_.folder = absl::StrCat(root_, "/", i);
    const uint64_t first = needed_lsns[static_cast<size_t>(i) - 1], last = last_lsns[static_cast<size_t>(i) - 1];
    appended_ = all;
    absl::Status status = Open(first, last + 1);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(replayed_, Appended(first, last));
    ASSERT_EQ(log_->next_lsn(), last + 1);
    appended_ = replayed_;
    AppendMany(30);
    // Nothing was dropped in between.
    status = Open(first, last + 1);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(replayed_, appended_);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, TornTailTest, ::testing::Bool(), [](const auto& info) { return info.param ? "power" : "process"; });

class LostPowerTest : public LogTest {
 protected:
  LostPowerTest() { options_.power = true; }
};

// Pages behind the last sync may be written in any order: what they leave is no damage, and nothing of it comes back.
TEST_F(LostPowerTest, WhatWasNotSyncedMayBeTornAnywhere) {
  options_.segment_bytes = 1u << 16;
  ASSERT_TRUE(Open().ok());
  AppendMany(8);
  ASSERT_TRUE(log_->WaitDurable(8, absl::Seconds(10)).ok());
  AppendMany(8);
  log_.reset();
  const std::vector<Logged> all = appended_;
  const std::vector<Place> places = Places();
  const std::string whole = ReadBytes(places[0].path);
  for (size_t torn = 8; torn < 16; ++torn) {
    SCOPED_TRACE(torn);
    std::string bytes = whole;
    bytes[places[torn].begin + 44] ^= 1;
    std::filesystem::remove_all(options_.folder);
    std::filesystem::create_directories(options_.folder);
    WriteBytes(places[0].path, bytes);
    const absl::Status status = Open();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(replayed_, std::vector<Logged>(all.begin(), all.begin() + static_cast<long>(torn)));
    appended_ = replayed_;
    AppendMany(12);
    ASSERT_TRUE(Open().ok());
    ASSERT_EQ(replayed_, appended_);
  }
}

}  // namespace
}  // namespace tessera
