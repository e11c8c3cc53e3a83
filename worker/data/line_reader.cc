#include "worker/data/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

// A block's chunk stays in the second-level cache between being read and being parsed.
constexpr size_t kChunkBytes = 512 << 10;
// Read behind a small block, so that its last row needs no second read.
constexpr size_t kSlackBytes = 4 << 10;

}  // namespace

LineReader::LineReader(ByteSource* source, uint64_t data_begin, uint64_t begin, uint64_t end)
    : source_(source), end_(end), range_bytes_(end > begin ? end - begin : 0), skip_(begin > data_begin), base_(skip_ ? begin - 1 : data_begin) {
  capacity_ = std::min<uint64_t>(kChunkBytes, (end > base_ ? end - base_ : 0) + kSlackBytes);
  buffer_.reset(new char[capacity_]);
}

bool LineReader::Next(std::string_view* line, uint64_t* offset) {
  while (status_.ok() && base_ + cursor_ < end_) {
    const char* const from = buffer_.get() + scanned_;
    const char* found = static_cast<const char*>(std::memchr(from, '\n', filled_ - scanned_));
    if (found == nullptr) {
      scanned_ = filled_;
      if (!at_end_) {
        if (!Refill()) return false;
        continue;
      }
      if (cursor_ == filled_) return false;
      found = buffer_.get() + filled_;  // the last line has no line end
    }
    const char* const begin = buffer_.get() + cursor_;
    size_t length = found - begin;
    if (length > kLineBytesMax && !skip_) return FailTooLong();
    *offset = base_ + cursor_;
    cursor_ = scanned_ = std::min<size_t>(cursor_ + length + 1, filled_);
    if (skip_) {
      skip_ = false;
      continue;
    }
    if (length > 0 && begin[length - 1] == '\r') --length;
    if (length == 0 && !keep_empty_) continue;
    *line = std::string_view(begin, length);
    return true;
  }
  return false;
}

// Moves the unfinished line to the front and reads on behind it.
bool LineReader::Refill() {
  const size_t kept = filled_ - cursor_;
  if (skip_ && kept > 0) {
    // What is passed over need not be kept, but the byte that began it is behind us now.
    base_ += filled_;
    cursor_ = scanned_ = filled_ = 0;
  } else {
    if (kept > kLineBytesMax) return FailTooLong();
    if (kept * 2 > capacity_) {
      capacity_ *= 2;
      std::unique_ptr<char[]> larger(new char[capacity_]);
      std::memcpy(larger.get(), buffer_.get() + cursor_, kept);
      buffer_ = std::move(larger);
    } else if (kept > 0) {
      std::memmove(buffer_.get(), buffer_.get() + cursor_, kept);
    }
    base_ += cursor_;
    scanned_ -= cursor_;
    cursor_ = 0;
    filled_ = kept;
  }
  const absl::StatusOr<size_t> count = source_->ReadAt(base_ + filled_, buffer_.get() + filled_, capacity_ - filled_);
  if (!count.ok()) return Fail(count.status());
  at_end_ = *count < capacity_ - filled_;
  filled_ += *count;
  return true;
}

bool LineReader::Fail(absl::Status status) {
  status_ = std::move(status);
  return false;
}

bool LineReader::FailTooLong() {
  return Fail(absl::InvalidArgumentError(absl::StrCat(LineAt(source_, base_ + cursor_), ": the row is longer than ", kLineBytesMax >> 20,
                                                      " MiB; is this a text file with one row in each line?")));
}

absl::StatusOr<bool> OnlyEmptyLinesFollow(ByteSource* source, uint64_t offset) {
  char buffer[kSlackBytes];
  for (size_t count = sizeof buffer; count == sizeof buffer; offset += count) {
    TESSERA_ASSIGN_OR_RETURN(count, source->ReadAt(offset, buffer, sizeof buffer));
    if (!std::all_of(buffer, buffer + count, [](char c) { return c == '\n' || c == '\r'; })) return false;
  }
  return true;
}

std::string LineAt(ByteSource* source, uint64_t offset) {
  std::unique_ptr<char[]> buffer(new char[kChunkBytes]);
  uint64_t line = 1;
  for (uint64_t position = 0; position < offset;) {
    const absl::StatusOr<size_t> count = source->ReadAt(position, buffer.get(), std::min<uint64_t>(kChunkBytes, offset - position));
    if (!count.ok() || *count == 0) return absl::StrCat(source->path(), ", byte ", offset);
    line += std::count(buffer.get(), buffer.get() + *count, '\n');
    position += *count;
  }
  return absl::StrCat(source->path(), ":", line);
}

}  // namespace tessera
