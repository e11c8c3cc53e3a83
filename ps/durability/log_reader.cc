#include "ps/durability/log_reader.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/fault_point.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;
constexpr absl::string_view kSpareSuffix = ".spare";

// Where the log ends, unless something later proves that it went on.
struct Break {
  bool is_set = false;
  uint64_t lsn = 0;   // of the first record that is missing
  std::string file;
  uint64_t offset = 0;
};

absl::Status Damaged(const Break& at, uint64_t later) {
  return absl::DataLossError(absl::StrCat(at.file, ": record ", at.lsn, " at byte ", at.offset, " is damaged or missing; record ", later,
                                          " behind it says that it was durable"));
}

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

}  // namespace

std::string SpareName(uint64_t number) { return absl::StrCat(SegmentName(number), kSpareSuffix); }

absl::StatusOr<FoundLog> ReadLog(const std::string& folder, uint64_t first_lsn, absl::FunctionRef<absl::Status(const LogRecord&)> replay) {
  TESSERA_ASSIGN_OR_RETURN(FoundLog log, ListLog(folder));
  Break broken;
  std::vector<uint64_t> buffer;
  for (FoundSegment& segment : log.segments) {
    const std::string path = absl::StrCat(folder, "/", SegmentName(segment.number));
    const auto take = [&](const LogRecord& record) {
      if (log.last_lsn == 0 && record.lsn > first_lsn) {
        return absl::DataLossError(absl::StrCat(path, ": the log begins at record ", record.lsn, ", record ", first_lsn, " is needed"));
      }
      if (!broken.is_set && log.last_lsn > 0 && record.lsn != log.last_lsn + 1) broken = {true, log.last_lsn + 1, path, 0};
      if (broken.is_set) return record.durable_lsn >= broken.lsn ? Damaged(broken, record.lsn) : absl::OkStatus();
      log.last_lsn = record.lsn;
      segment.last_lsn = record.lsn;
      FaultPoint("log.replay");
      return record.lsn >= first_lsn ? replay(record) : absl::OkStatus();
    };
    TESSERA_ASSIGN_OR_RETURN(const SegmentScan scan, ScanSegment(path, &buffer, take));
    segment.end = scan.end;
    if (scan.beyond_lsn == 0 || broken.is_set) continue;
    broken = {true, scan.last_lsn > 0 ? scan.last_lsn + 1 : scan.first_lsn, path, scan.end};
    if (scan.beyond_durable_lsn >= broken.lsn) return Damaged(broken, scan.beyond_lsn);
  }
  return log;
}

}  // namespace tessera
