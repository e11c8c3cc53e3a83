// Damage to what was durable is found wherever it is, told with file and place, and never passed over.
#include "tests/unit/ps_durability/log_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LogDamageTest : public LogTest, public ::testing::WithParamInterface<bool> {
 protected:
  // Records of every kind and of sizes from nothing to some, in several segments; each durable before the next, or only as each segment ends.
  void Fill(bool sync_each = true, int count = 30) {
    options_.power = GetParam();
    ASSERT_TRUE(Open().ok());
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(Append(static_cast<size_t>(i) % 7 * 30).ok());
      if (!sync_each) continue;
      ASSERT_TRUE(log_->Sync().ok());
    }
    log_.reset();
    segments_ = Segments();
    ASSERT_GE(segments_.size(), 4u);
    places_ = Places();
    ASSERT_EQ(places_.size(), static_cast<size_t>(count));
    files_ = Snapshot(options_.folder);
  }
  // As it was before any damage.
  void Mend() {
    for (const std::string& path : Segments()) std::filesystem::remove(path);
    for (const auto& [name, bytes] : files_) WriteBytes(options_.folder + "/" + name, bytes);
  }
  std::string Bytes(const std::string& path) { return files_.at(std::filesystem::path(path).filename()); }

  // Opening says so, and leaves everything as it is.
  void ExpectLoss(const ::testing::Matcher<std::string>& message, uint64_t first_lsn = 1) {
    const auto before = Snapshot(options_.folder);
    const absl::Status status = Open(first_lsn);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), message);
    EXPECT_EQ(log_, nullptr);
    EXPECT_EQ(Snapshot(options_.folder), before);
    EXPECT_EQ(Scan(first_lsn), status);
  }

  std::vector<std::string> segments_;
  std::vector<Place> places_;
  std::map<std::string, std::string> files_;
};

TEST_P(LogDamageTest, AFlippedBitAnywhereInARecordIsFoundAndItsPlaceTold) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  // The last one is covered by nobody: it may as well have been cut off.
  for (size_t i = 0; i + 1 < places_.size(); ++i) {
    const Place& place = places_[i];
    const std::string whole = Bytes(place.path);
    // Every byte of the header, and of the body every third and the last.
    for (size_t at = place.begin; at < place.end; at += at < place.begin + kRecordHeaderBytes || at + 4 > place.end ? 1 : 3) {
      std::string bytes = whole;
      bytes[at] ^= static_cast<char>(1 << (at % 8));
      WriteBytes(place.path, bytes);
      const absl::Status status = Scan();
      ASSERT_TRUE(absl::IsDataLoss(status)) << "record " << place.lsn << ", byte " << at - place.begin << ": " << status;
      ASSERT_THAT(std::string(status.message()), HasSubstr(absl::StrCat(place.path, ": record ", place.lsn, " at byte ", place.begin)));
      ASSERT_EQ(replayed_, Appended(1, place.lsn - 1));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectLoss(HasSubstr(place.path)));
    WriteBytes(place.path, whole);
  }
  EXPECT_TRUE(Open().ok());
}

TEST_P(LogDamageTest, ARunOfZerosOrALostEndOfAFileIsFound) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (size_t i = 0; i + 1 < places_.size(); ++i) {
    const Place& place = places_[i];
    std::string bytes = Bytes(place.path);
    std::fill(bytes.begin() + static_cast<long>(place.begin), bytes.begin() + static_cast<long>(place.end), '\0');
    WriteBytes(place.path, bytes);
    ExpectLoss(HasSubstr(absl::StrCat(place.path, ": record ", place.lsn, " at byte ", place.begin)));
    WriteBytes(place.path, Bytes(place.path));
    if (place.path == segments_.back()) continue;
    WriteBytes(place.path, Bytes(place.path).substr(0, place.end - 1));
    ExpectLoss(HasSubstr(absl::StrCat(place.path, ": record ", place.lsn, " at byte ", place.begin)));
    WriteBytes(place.path, Bytes(place.path));
  }
}

TEST_P(LogDamageTest, AFlippedBitInAnyByteOfASegmentsHeaderIsFound) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (const std::string& path : segments_) {
    for (size_t at = 0; at < kSegmentHeaderBytes; ++at) {
      SCOPED_TRACE(absl::StrCat(path, " byte ", at));
      std::string bytes = Bytes(path);
      bytes[at] ^= 0x40;
      WriteBytes(path, bytes);
      ExpectLoss(AllOf(HasSubstr(path), HasSubstr("at byte 0")));
    }
    WriteBytes(path, Bytes(path));
  }
}

TEST_P(LogDamageTest, AMissingSegmentIsFound) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (size_t i = 0; i + 1 < segments_.size(); ++i) {
    SCOPED_TRACE(segments_[i]);
    std::filesystem::remove(segments_[i]);
    uint64_t first = 0, next = 0;
    for (const Place& place : places_) {
      if (first == 0 && place.path == segments_[i]) first = place.lsn;
      if (next == 0 && place.path == segments_[i + 1]) next = place.lsn;
    }
    if (i == 0) {
      ExpectLoss(AllOf(HasSubstr(segments_[1]), HasSubstr(absl::StrCat("begins with record ", next, ", but record 1 is needed"))));
      EXPECT_TRUE(Scan(next).ok()) << "where it is not needed";
    } else {
      ExpectLoss(AllOf(HasSubstr(segments_[i - 1]), HasSubstr(absl::StrCat("record ", first, " at byte")), HasSubstr(segments_[i + 1])));
    }
    Mend();
  }
}

TEST_P(LogDamageTest, SegmentsUnderOtherNamesAreRefused) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const size_t last = segments_.size() - 1;
  for (size_t i = 0; i < last; ++i) {
    SCOPED_TRACE(i);
    WriteBytes(segments_[i], Bytes(segments_[i + 1]));
    WriteBytes(segments_[i + 1], Bytes(segments_[i]));
    ExpectLoss(HasSubstr(segments_[i]));
    Mend();
  }
  // The last one under the next name, and an old one once more.
  std::filesystem::rename(segments_[last], PathOf(last + 2));
  ExpectLoss(AllOf(HasSubstr(PathOf(last + 2)), HasSubstr("under this name")));
  Mend();
  WriteBytes(PathOf(last + 2), Bytes(segments_[1]));
  ExpectLoss(AllOf(HasSubstr(PathOf(last + 2)), HasSubstr("under this name")));
}

TEST_P(LogDamageTest, ASegmentOfAnotherLogIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const auto own = files_;
  const PushLogOptions options = options_;
  options_.folder = root_ + "/other";
  options_.owner = "job 2";
  appended_.clear();
  ASSERT_NO_FATAL_FAILURE(Fill());
  const auto other = files_;
  options_ = options;
  files_ = own;
  ASSERT_EQ(own.begin()->second.size(), other.begin()->second.size());
  for (size_t i = 0; i < segments_.size(); ++i) {
    const std::string path = PathOf(i + 1);
    WriteBytes(path, other.at(std::filesystem::path(path).filename()));
    ExpectLoss(AllOf(HasSubstr(path), HasSubstr("another log")));
    Mend();
  }
}

TEST_P(LogDamageTest, AnotherFormatIsRefusedByName) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (const std::string& path : segments_) {
    for (const char version : {'1', '3'}) {
      std::string bytes = Bytes(path);
      bytes[7] = version;
      WriteBytes(path, bytes);
      const auto before = Snapshot(options_.folder);
      const absl::Status status = Open();
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path), HasSubstr(absl::StrCat("format ", std::string(1, version)))));
      EXPECT_EQ(Snapshot(options_.folder), before);
    }
    WriteBytes(path, Bytes(path));
  }
}

// Two holes, the second where the first one's proof would be: what stands right behind the first was written before it was durable.
TEST_P(LogDamageTest, DamageThatIsProvedOnlyBehindFurtherDamageIsFound) {
  ASSERT_NO_FATAL_FAILURE(Fill(/*sync_each=*/false));
  size_t next = 0;
  while (places_[next].path == segments_[0]) ++next;
  for (size_t i = 2; i < segments_.size(); ++i) std::filesystem::remove(segments_[i]);
  for (size_t hole = 0; hole < next; ++hole) {
    std::string bytes = Bytes(segments_[0]);
    bytes[places_[hole].begin + 8] ^= 1;
    WriteBytes(segments_[0], bytes);
    bytes = Bytes(segments_[1]);
    bytes[places_[next].begin + 8] ^= 1;
    WriteBytes(segments_[1], bytes);
    ExpectLoss(HasSubstr(absl::StrCat(segments_[0], ": record ", places_[hole].lsn, " at byte ", places_[hole].begin)));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, LogDamageTest, ::testing::Bool(), [](const auto& info) { return info.param ? "power" : "process"; });

}  // namespace
}  // namespace tessera
