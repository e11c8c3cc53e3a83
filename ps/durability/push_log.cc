#include "ps/durability/push_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/fault_point.h"
#include "common/status_macros.h"
#include "ps/durability/log_reader.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

absl::Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", folder));
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  return result == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, absl::StrCat("cannot sync ", folder));
}

absl::Status SyncFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  return result == 0 ? absl::OkStatus() : absl::ErrnoToStatus(error, absl::StrCat("cannot sync ", path));
}

absl::Status CutOff(const std::string& path, uint64_t end) {
  if (truncate(path.c_str(), static_cast<off_t>(end)) != 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot cut ", path));
  return SyncFile(path);
}

absl::Status RemoveFile(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
  return error ? absl::ErrnoToStatus(error.value(), absl::StrCat("cannot remove ", path)) : absl::OkStatus();
}

}  // namespace

PushLog::PushLog(PushLogOptions options) : options_(std::move(options)), id_(LogIdOf(options_.owner)) {}

std::string PushLog::PathOf(uint64_t number) const { return absl::StrCat(options_.folder, "/", SegmentName(number)); }

absl::StatusOr<std::unique_ptr<PushLog>> PushLog::Open(const PushLogOptions& options, uint64_t first_lsn, uint64_t next_lsn_min,
                                                       absl::FunctionRef<absl::Status(const LogRecord&)> replay) {
  std::error_code error;
  fs::create_directories(options.folder, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot create ", options.folder));
  TESSERA_ASSIGN_OR_RETURN(const FoundLog found, ReadLog(options.folder, LogIdOf(options.owner), first_lsn, replay));
  std::unique_ptr<PushLog> log(new PushLog(options));
  MutexLock lock(&log->mutex_);
  log->spares_.assign(found.spares.begin(), found.spares.end());
  for (const FoundSegment& segment : found.segments) {
    log->next_number_ = segment.number + 1;
    // What follows the last sound record is cut off, so that nothing of it can ever be taken for a record that is written later.
    if (segment.last_lsn == 0) {
      TESSERA_RETURN_IF_ERROR(RemoveFile(log->PathOf(segment.number)));
    } else {
      TESSERA_RETURN_IF_ERROR(CutOff(log->PathOf(segment.number), segment.end));
      log->closed_.push_back({segment.number, segment.last_lsn, segment.end});
    }
  }
  for (uint64_t number : found.spares) log->next_number_ = std::max(log->next_number_, number + 1);
  TESSERA_RETURN_IF_ERROR(SyncFolder(options.folder));
  log->next_lsn_ = std::max(found.last_lsn + 1, next_lsn_min);
  log->synced_lsn_ = log->next_lsn_ - 1;
  return log;
}

absl::Status PushLog::Scan(const PushLogOptions& options, uint64_t first_lsn, absl::FunctionRef<absl::Status(const LogRecord&)> replay) {
  return ReadLog(options.folder, LogIdOf(options.owner), first_lsn, replay).status();
}

absl::Status PushLog::Remove(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename();
    if (SegmentNumber(name.substr(0, 20)) > 0) paths.push_back(it->path());
  }
  if (error == std::errc::no_such_file_or_directory) return absl::OkStatus();
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot read ", folder));
  for (const std::string& path : paths) TESSERA_RETURN_IF_ERROR(RemoveFile(path));
  return paths.empty() ? absl::OkStatus() : SyncFolder(folder);
}

absl::Status PushLog::CloseCurrent() {
  if (current_ == nullptr) return absl::OkStatus();
  if (options_.power) TESSERA_RETURN_IF_ERROR(NoteSync(current_->Sync(), next_lsn_ - 1));
  closed_.push_back({current_->number(), next_lsn_ - 1, current_->offset()});
  current_.reset();
  return absl::OkStatus();
}

absl::Status PushLog::NoteSync(absl::Status status, uint64_t lsn) {
  sync_failure_.Update(status);
  if (sync_failure_.ok()) synced_lsn_ = std::max(synced_lsn_, lsn);
  return sync_failure_;
}

absl::Status PushLog::Roll(uint64_t record_bytes) {
  TESSERA_RETURN_IF_ERROR(CloseCurrent());
  std::string spare;
  if (!spares_.empty()) {
    spare = absl::StrCat(options_.folder, "/", SpareName(spares_.front()));
    spares_.pop_front();
  }
  TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<LogSegment> segment,
                           LogSegment::Create(PathOf(next_number_), spare, {id_, next_number_}, next_lsn_,
                                              std::max(options_.segment_bytes, record_bytes)));
  if (options_.power) TESSERA_RETURN_IF_ERROR(SyncFolder(options_.folder));
  current_ = std::move(segment);
  spare_tried_ = false;
  ++next_number_;
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> PushLog::Append(LogKind kind, absl::Span<const absl::string_view> pieces, LogRoom room) {
  const uint64_t bytes = LogSegment::RecordBytes(pieces);
  FaultPoint("log.append");
  MutexLock lock(&mutex_);
  TESSERA_RETURN_IF_ERROR(sync_failure_);
  const uint64_t used = BytesHeld();
  if (room == LogRoom::kLimited && used + bytes > options_.bytes_max) {
    return absl::ResourceExhaustedError(absl::StrCat("the log ", options_.folder, " holds ", used >> 20, " MiB of at most ",
                                                     options_.bytes_max >> 20, " MiB (storage.log_per_server)"));
  }
  if (current_ == nullptr || !current_->HasRoom(bytes)) TESSERA_RETURN_IF_ERROR(Roll(bytes));
  // In `process` what was written survives a kill, so it counts as durable: a hole in it is damage, never a reason to go on without it.
  const uint64_t durable = options_.power ? synced_lsn_ : next_lsn_ - 1;
  TESSERA_RETURN_IF_ERROR(current_->Append(kind, next_lsn_, durable, pieces));
  FaultPoint("log.appended");
  return next_lsn_++;
}

absl::Status PushLog::SyncTo(uint64_t lsn, absl::Time deadline) {
  MutexLock lock(&mutex_);
  assert(lsn < next_lsn_);
  while (synced_lsn_ < lsn) {
    TESSERA_RETURN_IF_ERROR(sync_failure_);
    if (syncing_) {
      const absl::Duration left = deadline - Clock::Real()->Now();
      if (left <= absl::ZeroDuration()) {
        return absl::DeadlineExceededError(absl::StrCat("the disk of ", options_.folder, " did not take record ", lsn, " in time"));
      }
      synced_.WaitWithTimeout(&mutex_, left);
      continue;
    }
    // This caller syncs for all who have appended by now. Older segments were synced when they were closed.
    syncing_ = true;
    const uint64_t target = next_lsn_ - 1;
    const std::shared_ptr<LogSegment> segment = current_;
    mutex_.Unlock();
    const absl::Status status = segment == nullptr ? absl::OkStatus() : segment->Sync();
    mutex_.Lock();
    syncing_ = false;
    synced_.SignalAll();
    TESSERA_RETURN_IF_ERROR(NoteSync(status, target));
  }
  return absl::OkStatus();
}

absl::Status PushLog::WaitDurable(uint64_t lsn, absl::Duration patience) {
  return options_.power ? SyncTo(lsn, Clock::Real()->Now() + patience) : absl::OkStatus();
}

absl::Status PushLog::Sync() { return WaitDurable(next_lsn() - 1, absl::InfiniteDuration()); }

bool PushLog::SpareWanted() const {
  const bool soon = current_ != nullptr && current_->offset() > options_.segment_bytes / 4;
  return soon && spares_.empty() && !spare_tried_ && BytesHeld() + options_.segment_bytes <= options_.bytes_max;
}

bool PushLog::WantsSpare() const {
  MutexLock lock(&mutex_);
  return SpareWanted();
}

absl::Status PushLog::PrepareSpare() {
  uint64_t number = 0;
  {
    MutexLock lock(&mutex_);
    if (!SpareWanted()) return absl::OkStatus();
    spare_tried_ = true;
    number = next_number_++;  // of the spare alone: the segment that is made of it gets another
  }
  const std::string path = absl::StrCat(options_.folder, "/", SpareName(number));
  std::error_code error;
  const fs::space_info disk = fs::space(options_.folder, error);
  if (!error && disk.available < 4 * options_.segment_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the disk is full: ", options_.folder, " has ", disk.available >> 20, " MiB left"));
  }
  absl::Status status = WriteZeros(path, options_.segment_bytes);
  if (status.ok() && options_.power) status = SyncFile(path);
  if (!status.ok()) {
    status.Update(RemoveFile(path));
    return status;
  }
  MutexLock lock(&mutex_);
  spares_.push_back(number);
  return absl::OkStatus();
}

absl::Status PushLog::Drop(uint64_t needed_lsn) {
  MutexLock lock(&mutex_);
  if (needed_lsn >= next_lsn_) TESSERA_RETURN_IF_ERROR(CloseCurrent());
  while (!closed_.empty() && closed_.front().last_lsn < needed_lsn) {
    FaultPoint("log.drop");
    const std::string path = PathOf(closed_.front().number);
    // Files kept for reuse and files in use together take no more of the disk than a full log and one segment.
    if ((closed_.size() + spares_.size()) * options_.segment_bytes <= options_.bytes_max) {
      std::error_code error;
      fs::rename(path, absl::StrCat(options_.folder, "/", SpareName(closed_.front().number)), error);
      if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot rename ", path));
      spares_.push_back(closed_.front().number);
    } else {
      TESSERA_RETURN_IF_ERROR(RemoveFile(path));
    }
    closed_.pop_front();
  }
  return absl::OkStatus();
}

uint64_t PushLog::next_lsn() const {
  MutexLock lock(&mutex_);
  return next_lsn_;
}

uint64_t PushLog::durable_lsn() const {
  MutexLock lock(&mutex_);
  return options_.power ? synced_lsn_ : next_lsn_ - 1;
}

uint64_t PushLog::bytes() const {
  MutexLock lock(&mutex_);
  return BytesHeld();
}

uint64_t PushLog::BytesHeld() const {
  uint64_t bytes = current_ == nullptr ? 0 : current_->offset();
  for (const Closed& segment : closed_) bytes += segment.bytes;
  return bytes;
}

}  // namespace tessera
