// Beside the calls: write-back, shortening the log, saves, hints.
#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/fault_point.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "ps/server/kept_file.h"
#include "ps/server/shard_state.h"
#include "ps/table/shard_format.h"

namespace tessera {
namespace {

constexpr uint64_t kAllRecords = std::numeric_limits<uint64_t>::max();
// Rows written between two looks at who waits for room.
constexpr uint64_t kRowsPerRound = 65536;
constexpr absl::Duration kUpkeepInterval = absl::Seconds(1);
constexpr absl::Duration kWarmInterval = absl::Hours(1);

}  // namespace

void ShardState::StartUpkeep() {
  if (db_ == nullptr) return;
  upkeep_ = std::make_unique<Background>(kUpkeepInterval, [this] { Upkeep(); });
  warmer_ = std::make_unique<Background>(kWarmInterval, [this] { WarmNext(); });
}

void ShardState::Upkeep() {
  if (log_ != nullptr) {
    // Appends do without it.
    const absl::Status spare = log_->PrepareSpare();
    if (!spare.ok() && !absl::IsResourceExhausted(spare)) LogError(absl::StrCat("no room is made ahead for the log: ", spare.message()));
  }
  absl::Status status;
  {
    MutexLock lock(&upkeep_mutex_);
    status = WriteBackSome();
  }
  MutexLock lock(&progress_mutex_);
  const std::string stalled = status.ok() ? "" : absl::StrCat(status.message(), absl::IsResourceExhausted(status) ? "; this server then goes on by itself" : "");
  if (stalled != stalled_) {
    stalled.empty() ? LogInfo("write-back goes on") : LogError(absl::StrCat("write-back has stopped: ", stalled));
  }
  stalled_ = stalled;
  // A full disk passes; a row that cannot be written, or a database that is damaged, does not.
  if (!status.ok() && !absl::IsResourceExhausted(status) && failure_.ok()) failure_ = status;
  progress_.SignalAll();
}

absl::Status ShardState::WriteBackSome() {
  if (log_ != nullptr && log_->bytes() > log_->bytes_max() / 2) {
    uint64_t lsn = 0;
    {
      MutexLock lock(&update_mutex_);
      lsn = lsn_;
    }
    TESSERA_RETURN_IF_ERROR(WriteBackUpTo(lsn));
    return Shorten();
  }
  if (memory_rows_max_ == 0) return absl::OkStatus();
  const auto before = [this](uint64_t lsn) { return BeforeWrite(lsn); };
  // Bounded, or steps that bring in rows all the time would keep it from the log; more than come in until the next time.
  TESSERA_RETURN_IF_ERROR(rows_->WriteLeaving(std::max(kRowsPerRound, memory_rows_max_ / 16), before).status());
  Progress();
  uint64_t wanted = 0;
  {
    MutexLock lock(&progress_mutex_);
    std::swap(wanted, wanted_ids_);
  }
  // A row that is changed in every step would have to be written in every step. So the cold ones first, and only before updates must wait.
  const uint64_t most = std::min(dirty_rows_max_ / 16 * 15, DirtyRowsBeside(wanted));
  const uint64_t dirty = rows_->dirty_rows();
  for (uint64_t left = dirty > most ? dirty - most / 16 * 15 : 0; left > 0;) {
    const uint64_t round = std::min(left, kRowsPerRound);
    TESSERA_ASSIGN_OR_RETURN(uint64_t written, rows_->WriteCold(round, before));
    if (written == 0) {
      TESSERA_ASSIGN_OR_RETURN(written, rows_->WriteBack(kAllRecords, round, before));
    }
    Progress();
    if (written == 0) break;
    left -= std::min(left, written);
  }
  return absl::OkStatus();
}

absl::Status ShardState::WriteBackUpTo(uint64_t lsn) {
  const absl::Time begin = Clock::Real()->Now();
  uint64_t rows = 0;
  for (;;) {
    TESSERA_ASSIGN_OR_RETURN(const uint64_t written,
                             rows_->WriteBack(lsn, kRowsPerRound, [&](uint64_t record) { return BeforeWrite(record); }));
    Progress();
    if (written == 0) break;
    rows += written;
  }
  TESSERA_RETURN_IF_ERROR(dense_->WriteBack(db_.get(), [&](uint64_t record) { return BeforeWrite(record); }));
  const double seconds = absl::ToDoubleSeconds(Clock::Real()->Now() - begin);
  if (rows > 0 && seconds > 0) write_back_rate_ = static_cast<double>(rows) / seconds;
  return absl::OkStatus();
}

absl::Status ShardState::BeforeWrite(uint64_t lsn) {
  FaultPoint("write_back.batch");
  if (log_ == nullptr || opened_.storage().durability() != Durability::power || log_->durable_lsn() >= lsn) return absl::OkStatus();
  return log_->Sync();
}

void ShardState::Progress() {
  MutexLock lock(&progress_mutex_);
  progress_.SignalAll();
}

void ShardState::FillRecord(ShardRecord* record) {
  *record->mutable_opened() = opened_;
  record->set_lsn(lsn_);
  const uint64_t needed = std::min({lsn_ + 1, rows_->OldestDirty(), dense_->OldestDirty(), steps_.OldestStaged()});
  record->set_needed_lsn(needed);
  steps_.Save(record);
  record->set_pushed_step(pushed_step_);
  ledger_.Save(record);
  const RowAccounting accounting = rows_->accounting();
  record->set_inserted(accounting.inserted);
  record->set_evicted(accounting.evicted);
  record->set_refused(accounting.refused);
  record->set_period(rows_->period());
}

// The order matters. What the record covers is durable in the log before the record can be; rows that were written back are flushed with it
// or before it; only then may the log lose what they came from.
absl::Status ShardState::Shorten() {
  FaultPoint("shorten.begin");
  TESSERA_ASSIGN_OR_RETURN(const ShardRecord record, PutRecord());
  FaultPoint("shorten.record");
  TESSERA_RETURN_IF_ERROR(db_->Flush());
  FaultPoint("shorten.flushed");
  return DropLog(record);
}

absl::Status ShardState::DropLog(const ShardRecord& flushed) {
  // A database that ends before that has lost what the log will not have any more.
  TESSERA_RETURN_IF_ERROR(WriteKept(folder_, flushed.lsn()));
  FaultPoint("shorten.kept");
  needed_lsn_ = flushed.needed_lsn();
  return log_->Drop(flushed.needed_lsn());
}

absl::StatusOr<ShardRecord> ShardState::PutRecord() {
  ShardRecord record;
  std::string sightings;
  {
    MutexLock lock(&update_mutex_);
    FillRecord(&record);
    sightings = rows_->SightingBytes();
  }
  if (log_ != nullptr && opened_.storage().durability() == Durability::power) TESSERA_RETURN_IF_ERROR(log_->Sync());
  StateDb::Batch batch;
  batch.Put(MetaKey(), EncodeRecord(record));
  const size_t partitions = shape_.last_partition - shape_.first_partition;
  const size_t bytes = sightings.size() / partitions;
  for (uint32_t i = 0; i < partitions && bytes > 0; ++i) {
    const uint32_t p = shape_.first_partition + i;
    batch.Put(KeyBound(RecordKind::kSightings, p), EncodeSightings(p, absl::string_view(sightings).substr(i * bytes, bytes)));
  }
  TESSERA_RETURN_IF_ERROR(db_->Write(&batch));
  return record;
}

absl::StatusOr<std::vector<SavedFile>> ShardState::Save(const std::string& directory) {
  if (db_ == nullptr) return absl::FailedPreconditionError("this server was started without a state directory and cannot save");
  TESSERA_RETURN_IF_ERROR(health());
  FaultPoint("save.begin");
  MutexLock lock(&upkeep_mutex_);
  TESSERA_RETURN_IF_ERROR(WriteBackUpTo(kAllRecords));
  TESSERA_ASSIGN_OR_RETURN(const ShardRecord record, PutRecord());
  TESSERA_ASSIGN_OR_RETURN(std::vector<SavedFile> files, db_->Checkpoint(directory));
  if (log_ != nullptr) TESSERA_RETURN_IF_ERROR(DropLog(record));
  return files;
}

absl::Status ShardState::WriteBackAll() {
  if (log_ == nullptr) return absl::OkStatus();
  TESSERA_RETURN_IF_ERROR(health());
  MutexLock lock(&upkeep_mutex_);
  TESSERA_RETURN_IF_ERROR(WriteBackUpTo(kAllRecords));
  return Shorten();
}

void ShardState::Warm(absl::Span<const uint64_t> ids) {
  if (warmer_ == nullptr || !rows_->spilled()) return;
  {
    MutexLock lock(&progress_mutex_);
    hint_.assign(ids.begin(), ids.end());
  }
  warmer_->Kick();
}

void ShardState::WarmNext() {
  std::vector<uint64_t> ids;
  {
    MutexLock lock(&progress_mutex_);
    ids.swap(hint_);
  }
  if (ids.empty() || !health().ok()) return;
  // A damaged row is reported to whoever needs it.
  (void)rows_->Warm(PartitionedIds(ids), ids);
}

}  // namespace tessera
