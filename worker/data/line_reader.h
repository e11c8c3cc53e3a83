// Cuts a range of a file's plain bytes into lines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "worker/data/byte_source.h"

namespace tessera {

// A row longer than this is taken for a file that has no rows.
inline constexpr size_t kLineBytesMax = 16u << 20;

// Yields the lines whose first byte lies in [begin, end), in order, wherever the cuts fall: a line that begins before `begin` is passed
// over, one that goes on behind `end` is read to its end. Lines end with LF or CRLF, the last one also with the data. Empty lines
// are passed over unless they are asked for. Owned by one thread.
class LineReader {
 public:
  // No line begins before data_begin (behind a byte order mark or a header), one begins right there. `source` outlives the reader.
  LineReader(ByteSource* source, uint64_t data_begin, uint64_t begin, uint64_t end);

  // The next line without its line end, which lives until the next call, and the offset of its first byte. False at the end of the range
  // or after an error: see status().
  bool Next(std::string_view* line, uint64_t* offset);
  const absl::Status& status() const { return status_; }
  // Next yields empty lines too from now on.
  void KeepEmptyLines() { keep_empty_ = true; }
  // Offset behind the line read last and its line end.
  uint64_t position() const { return base_ + cursor_; }
  uint64_t range_bytes() const { return range_bytes_; }

 private:
  bool Refill();
  bool Fail(absl::Status status);
  bool FailTooLong();

  ByteSource* const source_;
  const uint64_t end_;
  const uint64_t range_bytes_;
  absl::Status status_;
  bool keep_empty_ = false;
  bool at_end_ = false;     // no byte follows the buffer
  bool skip_ = false;       // the first line begins before the range
  uint64_t base_ = 0;       // offset of buffer_[0]
  size_t cursor_ = 0;       // first byte of the next line
  size_t scanned_ = 0;      // bytes in front of it hold no line end from cursor_ on
  size_t filled_ = 0;
  size_t capacity_ = 0;
  std::unique_ptr<char[]> buffer_;
};

// Whether nothing but empty lines follows from `offset` on.
absl::StatusOr<bool> OnlyEmptyLinesFollow(ByteSource* source, uint64_t offset);

// "path:line" of the byte at `offset`; reads the file up to there. "path, byte N" where it cannot be read.
std::string LineAt(ByteSource* source, uint64_t offset);

}  // namespace tessera
