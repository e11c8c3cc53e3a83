// One file of the push log: a header, then records back to back. Byte for byte in README.md; reading it back is in segment_scan.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

enum class LogKind : uint32_t { kPush = 1, kStage = 2, kCommit = 3, kFence = 4, kCut = 5, kEvict = 6, kCoordinator = 7 };

struct LogRecord {
  LogKind kind = LogKind::kPush;
  uint64_t lsn = 0;
  uint64_t durable_lsn = 0;         // of the log when this was written
  absl::Span<const char> body;      // aligned to 8 bytes
};

// Which log, and which of its files. Both are part of every checksum, so what another log or an earlier life of the file left is no record.
struct SegmentKey {
  uint64_t log = 0;
  uint64_t number = 0;
};

// A segment that is being written. Owned by one thread; Sync may overlap with Append.
class LogSegment {
 public:
  // Makes `path` with room for `bytes`, or turns the file `spare` into it where that is not empty. RESOURCE_EXHAUSTED: the disk is full.
  // After an error there is no such file, and the spare is used up.
  static absl::StatusOr<std::unique_ptr<LogSegment>> Create(const std::string& path, const std::string& spare, SegmentKey key,
                                                            uint64_t first_lsn, uint64_t bytes);
  ~LogSegment();

  static uint64_t RecordBytes(absl::Span<const absl::string_view> pieces);
  bool HasRoom(uint64_t record_bytes) const { return offset_ + record_bytes <= size_; }
  // Writes one record. After an error nothing of it counts, and the segment takes no more.
  absl::Status Append(LogKind kind, uint64_t lsn, uint64_t durable_lsn, absl::Span<const absl::string_view> pieces);
  absl::Status Sync();

  uint64_t number() const { return key_.number; }
  uint64_t offset() const { return offset_; }  // bytes used

 private:
  LogSegment(std::string path, int fd, SegmentKey key, uint64_t size) : path_(std::move(path)), fd_(fd), key_(key), size_(size) {}

  const std::string path_;
  const int fd_;
  const SegmentKey key_;
  uint64_t size_;
  uint64_t offset_ = 0;
};

// Makes a file of zeros to become a segment. RESOURCE_EXHAUSTED: the disk is full. After an error the file is there in part.
absl::Status WriteZeros(const std::string& path, uint64_t bytes);

// Whose log it is, as a number.
uint64_t LogIdOf(absl::string_view owner);
// The number in a segment's file name, or 0.
uint64_t SegmentNumber(absl::string_view file_name);
std::string SegmentName(uint64_t number);

}  // namespace tessera
