#include "ps/durability/log_segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/status_macros.h"
#define XXH_INLINE_ALL  // compiled for this machine, which the library of the system is not: half the time for a record
#include <xxhash.h>

namespace tessera {
namespace {

constexpr uint64_t kSegmentMagic = 0x31474f4c41535354ull;  // "TSSALOG1"
constexpr uint32_t kRecordMagic = 0x43455254u;             // "TREC"
constexpr size_t kRecordAlignment = 8;
constexpr size_t kPiecesMax = 24;
constexpr char kPadding[kRecordAlignment] = {};

struct SegmentHeader {
  uint64_t magic;
  uint64_t number;     // seeds every checksum of the file: what an earlier life of the file left behind is no record
  uint64_t first_lsn;
  uint64_t checksum;
};
struct RecordHeader {
  uint32_t magic;
  uint32_t kind;
  uint64_t lsn;
  uint64_t durable_lsn;
  uint64_t body_bytes;
  uint64_t checksum;   // of the fields above, then the body
};
static_assert(sizeof(SegmentHeader) == 32 && sizeof(RecordHeader) == 40);
constexpr size_t kSummedHeaderBytes = sizeof(RecordHeader) - sizeof(uint64_t);

size_t PaddingOf(uint64_t bytes) { return (kRecordAlignment - bytes % kRecordAlignment) % kRecordAlignment; }

absl::Status LogFileError(int error, absl::string_view what, const std::string& path) {
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " ", path, ": the disk is full; the log goes on once there is room"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
}

uint64_t ChecksumOfRecord(uint64_t number, const RecordHeader& header, absl::Span<const absl::string_view> pieces) {
  XXH3_state_t state;
  // Without it a reset would believe a seed that some earlier call left on the stack, but not the rest of that state.
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, number);
  XXH3_64bits_update(&state, &header, kSummedHeaderBytes);
  for (absl::string_view piece : pieces) XXH3_64bits_update(&state, piece.data(), piece.size());
  return XXH3_64bits_digest(&state);
}

absl::Status WriteAll(int fd, std::vector<iovec> parts, uint64_t offset, const std::string& path) {
  size_t next = 0;
  while (next < parts.size()) {
    const ssize_t written = pwritev(fd, parts.data() + next, static_cast<int>(parts.size() - next), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return LogFileError(errno, "cannot write to", path);
    offset += static_cast<uint64_t>(written);
    for (size_t left = static_cast<size_t>(written); next < parts.size() && left >= parts[next].iov_len; ++next) left -= parts[next].iov_len;
    size_t left = static_cast<size_t>(written);
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t taken = std::min(left, parts[i].iov_len);
      parts[i].iov_base = static_cast<char*>(parts[i].iov_base) + taken;
      parts[i].iov_len -= taken;
      left -= taken;
    }
    while (next < parts.size() && parts[next].iov_len == 0) ++next;
  }
  return absl::OkStatus();
}

iovec PartOf(const void* data, size_t bytes) { return {const_cast<void*>(data), bytes}; }

}  // namespace

std::string SegmentName(uint64_t number) { return absl::StrFormat("%016x.log", number); }

uint64_t SegmentNumber(absl::string_view file_name) {
  uint64_t number = 0;
  if (file_name.size() != 20 || file_name.substr(16) != ".log" || !absl::SimpleHexAtoi(file_name.substr(0, 16), &number)) return 0;
  return number;
}

absl::StatusOr<std::unique_ptr<LogSegment>> LogSegment::Create(const std::string& path, const std::string& spare, uint64_t number,
                                                               uint64_t first_lsn, uint64_t bytes) {
  if (!spare.empty() && std::rename(spare.c_str(), path.c_str()) != 0) return LogFileError(errno, "cannot rename to", path);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return LogFileError(errno, "cannot create", path);
  bytes += sizeof(SegmentHeader);
  struct stat existing = {};
  if (fstat(fd, &existing) == 0) bytes = std::max<uint64_t>(bytes, static_cast<uint64_t>(existing.st_size));
  std::unique_ptr<LogSegment> segment(new LogSegment(path, fd, number, bytes));
  // Room is taken now: an append then neither waits for space to be found nor fails for the lack of it.
  if (const int error = posix_fallocate(fd, 0, static_cast<off_t>(bytes)); error != 0) {
    unlink(path.c_str());
    return LogFileError(error, "cannot take room for", path);
  }
  SegmentHeader header = {kSegmentMagic, number, first_lsn, 0};
  header.checksum = XXH3_64bits_withSeed(&header, offsetof(SegmentHeader, checksum), number);
  TESSERA_RETURN_IF_ERROR(WriteAll(fd, {PartOf(&header, sizeof header)}, 0, path));
  segment->offset_ = sizeof header;
  return segment;
}

LogSegment::~LogSegment() { close(fd_); }

uint64_t LogSegment::RecordBytes(absl::Span<const absl::string_view> pieces) {
  uint64_t bytes = sizeof(RecordHeader);
  for (absl::string_view piece : pieces) bytes += piece.size();
  return bytes + PaddingOf(bytes);
}

absl::Status LogSegment::Append(LogKind kind, uint64_t lsn, uint64_t durable_lsn, absl::Span<const absl::string_view> pieces) {
  RecordHeader header = {kRecordMagic, static_cast<uint32_t>(kind), lsn, durable_lsn, 0, 0};
  for (absl::string_view piece : pieces) header.body_bytes += piece.size();
  header.checksum = ChecksumOfRecord(number_, header, pieces);
  std::vector<iovec> parts;
  parts.reserve(pieces.size() + 2);
  parts.push_back(PartOf(&header, sizeof header));
  for (absl::string_view piece : pieces) parts.push_back(PartOf(piece.data(), piece.size()));
  parts.push_back(PartOf(kPadding, PaddingOf(header.body_bytes)));
  if (absl::Status status = WriteAll(fd_, std::move(parts), offset_, path_); !status.ok()) {
    // What did arrive of it must not stay: the next record goes to another segment.
    (void)ftruncate(fd_, static_cast<off_t>(offset_));
    size_ = offset_;
    return status;
  }
  offset_ += RecordBytes(pieces);
  return absl::OkStatus();
}

absl::Status LogSegment::Sync() {
  if (fdatasync(fd_) != 0) return LogFileError(errno, "cannot sync", path_);
  return absl::OkStatus();
}

namespace {

// A sound record at this place, or false.
bool RecordAt(absl::Span<const char> bytes, size_t at, uint64_t number, LogRecord* record, size_t* next) {
  if (at + sizeof(RecordHeader) > bytes.size()) return false;
  RecordHeader header;
  std::memcpy(&header, bytes.data() + at, sizeof header);
  if (header.magic != kRecordMagic || header.body_bytes > bytes.size() - at - sizeof header) return false;
  const absl::string_view body(bytes.data() + at + sizeof header, header.body_bytes);
  if (ChecksumOfRecord(number, header, {&body, 1}) != header.checksum) return false;
  record->kind = static_cast<LogKind>(header.kind);
  record->lsn = header.lsn;
  record->durable_lsn = header.durable_lsn;
  record->body = absl::MakeConstSpan(body.data(), body.size());
  *next = at + sizeof header + header.body_bytes + PaddingOf(header.body_bytes);
  return true;
}

absl::Status ReadWhole(const std::string& path, std::vector<uint64_t>* words, size_t* bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return LogFileError(errno, "cannot open", path);
  struct stat status = {};
  if (fstat(fd, &status) != 0) {
    const int error = errno;
    close(fd);
    return LogFileError(error, "cannot read", path);
  }
  *bytes = static_cast<size_t>(status.st_size);
  if (words->size() * sizeof(uint64_t) < *bytes) words->resize((*bytes + 7) / 8);
  for (size_t at = 0; at < *bytes;) {
    const ssize_t got = pread(fd, reinterpret_cast<char*>(words->data()) + at, *bytes - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const int error = got < 0 ? errno : EIO;
      close(fd);
      return LogFileError(error, "cannot read", path);
    }
    at += static_cast<size_t>(got);
  }
  close(fd);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SegmentScan> ScanSegment(const std::string& path, std::vector<uint64_t>* buffer,
                                        absl::FunctionRef<absl::Status(const LogRecord&)> body) {
  size_t size = 0;
  TESSERA_RETURN_IF_ERROR(ReadWhole(path, buffer, &size));
  const absl::Span<const char> bytes(reinterpret_cast<const char*>(buffer->data()), size);
  SegmentScan scan;
  SegmentHeader header = {};
  if (size >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != kSegmentMagic || header.checksum != XXH3_64bits_withSeed(&header, offsetof(SegmentHeader, checksum), header.number)) {
    return scan;
  }
  scan.first_lsn = header.first_lsn;
  scan.end = sizeof header;
  LogRecord record;
  size_t next = 0;
  uint64_t expected = header.first_lsn;
  while (RecordAt(bytes, scan.end, header.number, &record, &next) && record.lsn == expected) {
    TESSERA_RETURN_IF_ERROR(body(record));
    scan.last_lsn = expected++;
    scan.end = next;
  }
  for (size_t at = scan.end + kRecordAlignment; at + sizeof(RecordHeader) <= size; at += kRecordAlignment) {
    if (!RecordAt(bytes, at, header.number, &record, &next)) continue;
    scan.beyond_lsn = record.lsn;
    scan.beyond_durable_lsn = std::max(scan.beyond_durable_lsn, record.durable_lsn);
  }
  return scan;
}

}  // namespace tessera
