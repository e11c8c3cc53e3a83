#include "ps/durability/segment_scan.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ps/durability/log_format.h"

namespace tessera {
namespace {

// A sound record at this place, or false.
bool RecordAt(absl::Span<const char> bytes, size_t at, SegmentKey key, LogRecord* record, size_t* next) {
  if (at + sizeof(RecordHeader) > bytes.size()) return false;
  RecordHeader header;
  std::memcpy(&header, bytes.data() + at, sizeof header);
  if (header.magic != kRecordMagic || header.body_bytes > bytes.size() - at - sizeof header) return false;
  const absl::string_view body(bytes.data() + at + sizeof header, header.body_bytes);
  if (ChecksumOfRecord(key, header, {&body, 1}) != header.checksum) return false;
  record->kind = static_cast<LogKind>(header.kind);
  record->lsn = header.lsn;
  record->durable_lsn = header.durable_lsn;
  record->body = absl::MakeConstSpan(body.data(), body.size());
  *next = at + sizeof header + header.body_bytes + PaddingOf(header.body_bytes);
  return true;
}

absl::Status ReadWhole(const std::string& path, std::vector<uint64_t>* words, size_t* bytes) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  struct stat status = {};
  if (fstat(fd, &status) != 0) {
    const int error = errno;
    close(fd);
    return absl::ErrnoToStatus(error, absl::StrCat("cannot read ", path));
  }
  *bytes = static_cast<size_t>(status.st_size);
  if (words->size() * sizeof(uint64_t) < *bytes) words->resize((*bytes + 7) / 8);
  for (size_t at = 0; at < *bytes;) {
    const ssize_t got = pread(fd, reinterpret_cast<char*>(words->data()) + at, *bytes - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      const int error = got < 0 ? errno : EIO;
      close(fd);
      return absl::ErrnoToStatus(error, absl::StrCat("cannot read ", path));
    }
    at += static_cast<size_t>(got);
  }
  close(fd);
  return absl::OkStatus();
}

absl::StatusOr<SegmentScan::Header> CheckHeader(const SegmentHeader& header, SegmentKey key, const std::string& path) {
  if (std::memcmp(header.magic, kSegmentMagic, kMagicBytes - 1) != 0) return SegmentScan::Header::kNone;
  const char version = header.magic[kMagicBytes - 1];
  // Every format has the number here; a spare of another release that was being turned into this file has another one.
  if (version != kSegmentMagic[kMagicBytes - 1] && header.number == key.number && absl::ascii_isdigit(static_cast<unsigned char>(version))) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": is a log of format ", std::string(1, version), " (byte 7), this program reads ",
                                                      std::string(1, kSegmentMagic[kMagicBytes - 1]), "; use the release that wrote it"));
  }
  if (header.checksum != ChecksumOfHeader(header) || version != kSegmentMagic[kMagicBytes - 1]) return SegmentScan::Header::kNone;
  if (header.log != key.log) {
    return absl::DataLossError(absl::StrCat(path, ": is a file of another log (byte 16): of another job, server or incarnation"));
  }
  return header.number == key.number ? SegmentScan::Header::kSound : SegmentScan::Header::kRenamed;
}

// Sound records anywhere from `at` on.
void LookBeyond(absl::Span<const char> bytes, size_t at, SegmentKey key, SegmentScan* scan) {
  LogRecord record;
  size_t next = 0;
  for (; at + sizeof(RecordHeader) <= bytes.size(); at += kRecordAlignment) {
    if (!RecordAt(bytes, at, key, &record, &next)) continue;
    if (scan->beyond_lsn > 0 && record.durable_lsn < scan->beyond_durable_lsn) continue;
    scan->beyond_lsn = record.lsn;
    scan->beyond_durable_lsn = record.durable_lsn;
  }
}

}  // namespace

absl::StatusOr<SegmentScan> ScanSegment(const std::string& path, SegmentKey key, std::vector<uint64_t>* buffer,
                                        absl::FunctionRef<absl::Status(const LogRecord&)> body) {
  size_t size = 0;
  TESSERA_RETURN_IF_ERROR(ReadWhole(path, buffer, &size));
  const absl::Span<const char> bytes(reinterpret_cast<const char*>(buffer->data()), size);
  SegmentScan scan;
  SegmentHeader header = {};
  if (size >= sizeof header) std::memcpy(&header, bytes.data(), sizeof header);
  TESSERA_ASSIGN_OR_RETURN(scan.header, CheckHeader(header, key, path));
  LogRecord record;
  size_t next = 0;
  if (scan.header == SegmentScan::Header::kNone) {
    if (RecordAt(bytes, sizeof header, key, &record, &next)) scan.headless_lsn = record.lsn;
    LookBeyond(bytes, sizeof header, key, &scan);
    return scan;
  }
  const SegmentKey own = {header.log, header.number};
  scan.first_lsn = header.first_lsn;
  scan.end = sizeof header;
  uint64_t expected = header.first_lsn;
  while (RecordAt(bytes, scan.end, own, &record, &next) && record.lsn == expected) {
    if (scan.header == SegmentScan::Header::kSound) TESSERA_RETURN_IF_ERROR(body(record));
    scan.last_lsn = expected++;
    scan.end = next;
  }
  if (scan.header == SegmentScan::Header::kSound) LookBeyond(bytes, scan.end, own, &scan);
  return scan;
}

}  // namespace tessera
