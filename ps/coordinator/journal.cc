#include "ps/coordinator/journal.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "common/fault_point.h"
#include "common/status_macros.h"
#include "ps/checkpoint/durable_file.h"

namespace tessera {
namespace {

// A record is some kilobytes, mostly the positions of the shares; the plan in a whole one some hundred.
constexpr uint64_t kSegmentBytes = 1 << 20;
constexpr uint64_t kLongBytes = 8 << 20;
constexpr uint64_t kBytesMax = 256 << 20;
constexpr absl::Duration kSyncMax = absl::Seconds(60);

// Holds the number of the last whole record.
std::string BeginPath(const std::string& folder) { return absl::StrCat(folder, "/BEGIN"); }

absl::StatusOr<uint64_t> ReadBegin(const std::string& folder) {
  absl::StatusOr<std::string> text = ReadFile(BeginPath(folder));
  if (absl::IsNotFound(text.status())) return 1;
  TESSERA_RETURN_IF_ERROR(text.status());
  uint64_t begin = 0;
  if (!absl::SimpleAtoi(*text, &begin)) return absl::DataLossError(absl::StrCat(BeginPath(folder), ": damaged: it holds no number"));
  return begin;
}

}  // namespace

void Fold(const CoordinatorRecord& record, CoordinatorRecord* whole) {
  if (record.has_opened()) {
    *whole = record;
    return;
  }
  for (const MemberRecord& member : record.members()) {
    MemberRecord* place = nullptr;
    for (MemberRecord& other : *whole->mutable_members()) {
      if (other.worker() == member.worker()) place = &other;
    }
    *(place != nullptr ? place : whole->add_members()) = member;
  }
  if (record.has_run()) {
    Report* const report = whole->mutable_run()->mutable_state()->mutable_report();
    google::protobuf::RepeatedPtrField<EvaluationReport> evaluations;
    evaluations.Swap(report->mutable_evaluations());
    *whole->mutable_run() = record.run();
    if (record.run().same_evaluations()) evaluations.Swap(whole->mutable_run()->mutable_state()->mutable_report()->mutable_evaluations());
    whole->mutable_run()->clear_same_evaluations();
  }
  if (record.has_happened()) *whole->mutable_happened() = record.happened();
  whole->set_over(record.over());
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(const std::string& folder, bool power, CoordinatorRecord* found) {
  TESSERA_RETURN_IF_ERROR(CreateDirectoriesDurably(folder));
  std::unique_ptr<Journal> journal(new Journal(folder));
  TESSERA_ASSIGN_OR_RETURN(const uint64_t begin, ReadBegin(folder));
  PushLogOptions options;
  options.folder = folder;
  options.bytes_max = kBytesMax;
  options.segment_bytes = kSegmentBytes;
  options.power = power;
  found->Clear();
  TESSERA_ASSIGN_OR_RETURN(journal->log_, PushLog::Open(options, begin, begin, [&](const LogRecord& logged) {
    CoordinatorRecord record;
    if (logged.kind != LogKind::kCoordinator || !record.ParseFromArray(logged.body.data(), static_cast<int>(logged.body.size()))) {
      return absl::DataLossError(absl::StrCat("record ", logged.lsn, " of the log in ", folder, " is none of the coordinator's"));
    }
    Fold(record, found);
    return absl::OkStatus();
  }));
  return journal;
}

absl::Status Journal::Append(const CoordinatorRecord& record) {
  const std::string body = record.SerializeAsString();
  const absl::string_view piece = body;
  TESSERA_ASSIGN_OR_RETURN(const uint64_t lsn, log_->Append(LogKind::kCoordinator, {&piece, 1}));
  TESSERA_RETURN_IF_ERROR(log_->WaitDurable(lsn, kSyncMax));
  FaultPoint("coordinator.decided");
  if (!record.has_opened()) return absl::OkStatus();
  TESSERA_RETURN_IF_ERROR(WriteFileDurably(BeginPath(folder_), absl::StrCat(lsn, "\n")));
  return log_->Drop(lsn);
}

bool Journal::IsLong() const { return log_->bytes() > kLongBytes; }

}  // namespace tessera
