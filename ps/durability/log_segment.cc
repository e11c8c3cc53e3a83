#include "ps/durability/log_segment.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/fault_point.h"
#include "common/status_macros.h"
#include "ps/durability/log_format.h"

namespace tessera {
namespace {

constexpr char kPadding[kRecordAlignment] = {};

absl::Status LogFileError(int error, absl::string_view what, const std::string& path) {
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(absl::StrCat(what, " ", path, ": the disk is full; make room on it, and the log goes on by itself"));
  }
  return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
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

uint64_t LogIdOf(absl::string_view owner) { return XXH3_64bits_withSeed(owner.data(), owner.size(), kRecordMagic); }

std::string SegmentName(uint64_t number) { return absl::StrFormat("%016x.log", number); }

uint64_t SegmentNumber(absl::string_view file_name) {
  uint64_t number = 0;
  if (file_name.size() != 20 || file_name.substr(16) != ".log" || !absl::SimpleHexAtoi(file_name.substr(0, 16), &number)) return 0;
  return number;
}

absl::StatusOr<std::unique_ptr<LogSegment>> LogSegment::Create(const std::string& path, const std::string& spare, SegmentKey key,
                                                               uint64_t first_lsn, uint64_t bytes) {
  if (!spare.empty() && std::rename(spare.c_str(), path.c_str()) != 0) return LogFileError(errno, "cannot rename to", path);
  FaultPoint("log.begin_segment");
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return LogFileError(errno, "cannot create", path);
  bytes += sizeof(SegmentHeader);
  struct stat existing = {};
  if (fstat(fd, &existing) == 0) bytes = std::max<uint64_t>(bytes, static_cast<uint64_t>(existing.st_size));
  std::unique_ptr<LogSegment> segment(new LogSegment(path, fd, key, bytes));
  // Room is taken now: an append then neither waits for space to be found nor fails for the lack of it.
  int error = 0;
  do {
    error = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  } while (error == EINTR);
  absl::Status status = error == 0 ? absl::OkStatus() : LogFileError(error, "cannot take room for", path);
  SegmentHeader header = {{}, key.number, key.log, first_lsn, 0};
  std::memcpy(header.magic, kSegmentMagic, kMagicBytes);
  header.checksum = ChecksumOfHeader(header);
  if (status.ok()) status = WriteAll(fd, {PartOf(&header, sizeof header)}, 0, path);
  if (!status.ok()) {
    unlink(path.c_str());
    return status;
  }
  segment->offset_ = sizeof header;
  return segment;
}

absl::Status WriteZeros(const std::string& path, uint64_t bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return LogFileError(errno, "cannot create", path);
  const std::string zeros(std::min<uint64_t>(bytes, 1u << 20), '\0');
  absl::Status status;
  for (uint64_t offset = 0; offset < bytes && status.ok(); offset += zeros.size()) {
    status = WriteAll(fd, {PartOf(zeros.data(), std::min<uint64_t>(zeros.size(), bytes - offset))}, offset, path);
  }
  close(fd);
  return status;
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
  header.checksum = ChecksumOfRecord(key_, header, pieces);
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
  FaultPoint("log.sync");
  if (fdatasync(fd_) != 0) return LogFileError(errno, "cannot sync", path_);
  FaultPoint("log.synced");
  return absl::OkStatus();
}

}  // namespace tessera
