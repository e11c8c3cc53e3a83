// One file of the push log: a header, then records back to back. Byte for byte in README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tessera {

enum class LogKind : uint32_t { kPush = 1, kStage = 2, kCommit = 3, kFence = 4, kCut = 5, kEvict = 6 };

struct LogRecord {
  LogKind kind = LogKind::kPush;
  uint64_t lsn = 0;
  uint64_t durable_lsn = 0;         // of the log when this was written
  absl::Span<const char> body;      // aligned to 8 bytes
};

// A segment that is being written. Owned by one thread; Sync may overlap with Append.
class LogSegment {
 public:
  // Makes `path` with room for `bytes`, or turns the file `spare` into it where that is not empty. RESOURCE_EXHAUSTED: the disk is full.
  static absl::StatusOr<std::unique_ptr<LogSegment>> Create(const std::string& path, const std::string& spare, uint64_t number,
                                                            uint64_t first_lsn, uint64_t bytes);
  ~LogSegment();

  static uint64_t RecordBytes(absl::Span<const absl::string_view> pieces);
  bool HasRoom(uint64_t record_bytes) const { return offset_ + record_bytes <= size_; }
  // Writes one record. After an error nothing of it counts, and the segment takes no more.
  absl::Status Append(LogKind kind, uint64_t lsn, uint64_t durable_lsn, absl::Span<const absl::string_view> pieces);
  absl::Status Sync();

  uint64_t number() const { return number_; }
  uint64_t offset() const { return offset_; }  // bytes used

 private:
  LogSegment(std::string path, int fd, uint64_t number, uint64_t size) : path_(std::move(path)), fd_(fd), number_(number), size_(size) {}

  const std::string path_;
  const int fd_;
  const uint64_t number_;
  uint64_t size_;
  uint64_t offset_ = 0;
};

// What reading a segment found.
struct SegmentScan {
  uint64_t first_lsn = 0;      // of the header; 0: the header is bad, as of a segment that was being made
  uint64_t last_lsn = 0;       // of the last sound record in order; 0: none
  uint64_t end = 0;            // bytes up to there
  uint64_t beyond_lsn = 0;     // a sound record after one that is not; 0: none
  uint64_t beyond_durable_lsn = 0;
};

// Calls body for each sound record in order, up to the first that is bad, and looks for sound ones behind it. The file is read into
// `buffer`, which grows; used for one segment after the other it is fresh memory only once.
absl::StatusOr<SegmentScan> ScanSegment(const std::string& path, std::vector<uint64_t>* buffer,
                                        absl::FunctionRef<absl::Status(const LogRecord&)> body);

// The number in a segment's file name, or 0.
uint64_t SegmentNumber(absl::string_view file_name);
std::string SegmentName(uint64_t number);

}  // namespace tessera
