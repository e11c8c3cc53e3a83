#include "ps/durability/log_reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/fault_point.h"
#include "common/status_macros.h"
#include "ps/durability/segment_scan.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
constexpr absl::string_view kSpareSuffix = ".spare";

absl::StatusOr<FoundLog> ListLog(const std::string& folder) {
  FoundLog log;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (const uint64_t number = SegmentNumber(name); number > 0) log.segments.push_back({number, 0, 0});
    if (absl::EndsWith(name, kSpareSuffix)) log.spares.push_back(SegmentNumber(absl::StripSuffix(name, kSpareSuffix)));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read the log ", folder));
  }
  std::sort(log.segments.begin(), log.segments.end(), [](const FoundSegment& a, const FoundSegment& b) { return a.number < b.number; });
  return log;
}

// Follows the records from segment to segment, and remembers where the log broke off until it is known whether it went on.
class LogWalk {
 public:
  LogWalk(uint64_t first_lsn, absl::FunctionRef<absl::Status(const LogRecord&)> replay) : first_lsn_(first_lsn), replay_(replay) {}

  void Enter(const std::string& path) {
    path_ = path;
    if (end_path_.empty()) EndsHere(0);
  }

  absl::Status Take(const LogRecord& record) {
    if (!broken_) {
      if (last_lsn_ == 0 && next_lsn_ == 0) next_lsn_ = record.lsn;
      if (last_lsn_ == 0 && next_lsn_ > first_lsn_) {
        return absl::DataLossError(absl::StrCat(path_, ": the log begins with record ", next_lsn_, ", but record ", first_lsn_, " is needed"));
      }
      if (record.lsn < next_lsn_) {
        return absl::DataLossError(absl::StrCat(path_, ": holds record ", record.lsn, ", the log before it goes up to ", next_lsn_ - 1));
      }
      broken_ = record.lsn > next_lsn_ && record.lsn > first_lsn_;
    }
    if (broken_) return Covered(record.lsn, record.durable_lsn);
    last_lsn_ = record.lsn;
    next_lsn_ = record.lsn + 1;
    FaultPoint("log.replay");
    return record.lsn >= first_lsn_ ? replay_(record) : absl::OkStatus();
  }

  absl::Status Leave(const SegmentScan& scan) {
    if (scan.header == SegmentScan::Header::kRenamed && scan.last_lsn >= first_lsn_) {
      return absl::DataLossError(absl::StrCat(path_, ": is another file of this log under this name (byte 8), with records up to ",
                                              scan.last_lsn, "; record ", first_lsn_, " and later ones are needed"));
    }
    const uint64_t begin = scan.header == SegmentScan::Header::kSound ? scan.first_lsn : scan.headless_lsn;
    if (!broken_ && begin > 0) {
      if (next_lsn_ == 0) next_lsn_ = begin;
      if (scan.last_lsn > 0 || begin == next_lsn_) EndsHere(scan.end);
    }
    if (scan.beyond_lsn == 0) return absl::OkStatus();
    if (next_lsn_ == 0) next_lsn_ = first_lsn_;
    broken_ = true;
    // A header is written before the record behind it, in the same sector: it was there.
    return scan.headless_lsn > 0 ? Damaged(scan.beyond_lsn) : Covered(scan.beyond_lsn, scan.beyond_durable_lsn);
  }

  bool broken() const { return broken_; }
  uint64_t last_lsn() const { return last_lsn_; }

 private:
  void EndsHere(uint64_t at) {
    end_path_ = path_;
    end_ = at;
  }
  absl::Status Covered(uint64_t lsn, uint64_t durable_lsn) const { return durable_lsn >= next_lsn_ ? Damaged(lsn) : absl::OkStatus(); }
  absl::Status Damaged(uint64_t later) const {
    return absl::DataLossError(absl::StrCat(end_path_, ": record ", next_lsn_, " at byte ", end_, " is damaged or missing; record ", later,
                                            " in ", path_, " says that it was durable"));
  }

  const uint64_t first_lsn_;
  const absl::FunctionRef<absl::Status(const LogRecord&)> replay_;
  std::string path_;        // of the segment that is being read
  uint64_t last_lsn_ = 0;   // of the last record of the log
  uint64_t next_lsn_ = 0;   // of the one that has to follow
  std::string end_path_;    // where that has to stand
  uint64_t end_ = 0;
  bool broken_ = false;     // it does not: the log ends there, unless something later proves that it went on
};

}  // namespace

std::string SpareName(uint64_t number) { return absl::StrCat(SegmentName(number), kSpareSuffix); }

absl::StatusOr<FoundLog> ReadLog(const std::string& folder, uint64_t log, uint64_t first_lsn,
                                 absl::FunctionRef<absl::Status(const LogRecord&)> replay) {
  TESSERA_ASSIGN_OR_RETURN(FoundLog found, ListLog(folder));
  LogWalk walk(first_lsn, replay);
  std::vector<uint64_t> buffer;
  for (FoundSegment& segment : found.segments) {
    const std::string path = absl::StrCat(folder, "/", SegmentName(segment.number));
    walk.Enter(path);
    const auto take = [&](const LogRecord& record) {
      TESSERA_RETURN_IF_ERROR(walk.Take(record));
      if (!walk.broken()) segment.last_lsn = record.lsn;
      return absl::OkStatus();
    };
    TESSERA_ASSIGN_OR_RETURN(const SegmentScan scan, ScanSegment(path, {log, segment.number}, &buffer, take));
    TESSERA_RETURN_IF_ERROR(walk.Leave(scan));
    segment.end = scan.end;
  }
  found.last_lsn = walk.last_lsn();
  return found;
}

}  // namespace tessera
