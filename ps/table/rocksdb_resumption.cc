#include "ps/table/rocksdb_resumption.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/fault_point.h"
#include <rocksdb/convenience.h>

namespace tessera {
namespace {

// For the manifest.
constexpr uint64_t kRoomBesideBytes = 4u << 20;
// A call waits no longer for RocksDB to resume; the buffers take a second or two.
constexpr absl::Duration kResumePatience = absl::Seconds(5);
// What takes longer, though there was room at each call, never ends.
constexpr absl::Duration kResumeMax = absl::Minutes(2);
// A flush that failed is over after a second.
constexpr absl::Duration kIdlePoll = absl::Milliseconds(20);

}  // namespace

void StopListener::SetFlushed(uint64_t number) {
  const MutexLock lock(&mutex_);
  flushed_ = std::max(flushed_, number);
  changed_.SignalAll();
}

bool StopListener::WaitFlushed(uint64_t number, absl::Duration patience) {
  const absl::Time deadline = Clock::Real()->Now() + patience;
  const MutexLock lock(&mutex_);
  // An error is told to another thread's member: looked at every second.
  while (flushed_ < number && !stopped() && Clock::Real()->Now() < deadline) changed_.WaitWithTimeout(&mutex_, absl::Seconds(1));
  return flushed_ >= number;
}

// A compaction's error is made as hard as a flush's: after a soft one nothing is written out any more, yet a flush waits for it.
void StopListener::OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) {
  if (error->severity() < rocksdb::Status::kHardError) *error = rocksdb::Status(*error, rocksdb::Status::kHardError);
  SetStopped();
}

// Not by itself every 5 seconds: callers resume, and while it tries, they could not.
void StopListener::OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) { *auto_recovery = false; }

void StopListener::OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) { FaultPoint("db.compaction"); }
void StopListener::OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) { FaultPoint("db.flush"); }
void StopListener::OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) { SetFlushed(info.largest_seqno); }

Resumption::Resumption(rocksdb::DB* db, std::shared_ptr<StopListener> listener, std::string folder, uint64_t room_bytes)
    : db_(db), listener_(std::move(listener)), folder_(std::move(folder)), room_bytes_(room_bytes) {}

Resumption::~Resumption() {
  std::thread last;
  {
    const MutexLock lock(&mutex_);
    // Who waits for a flush is told that there will be none.
    if (resuming_) rocksdb::CancelAllBackgroundWork(db_, /*wait=*/false);
    last.swap(thread_);
  }
  if (last.joinable()) last.join();
}

rocksdb::Status Resumption::Try(absl::FunctionRef<rocksdb::Status()> body) {
  for (int attempt = 0;; ++attempt) {
    if (!HasRoom()) return rocksdb::Status::NoSpace(absl::StrCat("less than ", (room_bytes_ + kRoomBesideBytes) >> 20, " MiB are left, which the buffers may need"));
    rocksdb::Status status = rocksdb::Status::OK();
    if (listener_->TakeStopped()) status = Resume();
    if (!status.ok()) {
      listener_->SetStopped();
      return status;
    }
    status = body();
    if (status.ok() || attempt > 0 || !listener_->stopped()) return status;
  }
}

bool Resumption::HasRoom() const {
  std::error_code error;
  const uint64_t room = std::filesystem::space(folder_, error).available;
  return error || room >= room_bytes_ + kRoomBesideBytes;
}

bool Resumption::WaitIdle(absl::Time deadline) const {
  for (;;) {
    uint64_t flushes = 0;
    uint64_t compactions = 0;
    db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningFlushes, &flushes);
    db_->GetIntProperty(rocksdb::DB::Properties::kNumRunningCompactions, &compactions);
    if (flushes + compactions == 0) return true;
    if (Clock::Real()->Now() >= deadline) return false;
    Clock::Real()->SleepFor(kIdlePoll);
  }
}

rocksdb::Status Resumption::Resume() {
  const absl::Time begin = Clock::Real()->Now();
  const absl::Time deadline = begin + kResumePatience;
  const MutexLock lock(&mutex_);
  if (!resuming_) {
    // RocksDB 7.8 may lose a flush that it begins while it resumes and still waits for one that failed before: then it resumes for ever.
    if (!WaitIdle(deadline)) return rocksdb::Status::NoSpace("the disk was full; what was under way then is not over yet");
    if (thread_.joinable()) thread_.join();
    resuming_ = true;
    begin_ = begin;
    thread_ = std::thread([this] {
      const rocksdb::Status status = db_->Resume();
      const MutexLock inside(&mutex_);
      result_ = status;
      resuming_ = false;
      done_.SignalAll();
    });
  }
  while (resuming_) {
    const absl::Time now = Clock::Real()->Now();
    if (now >= begin_ + kResumeMax) return rocksdb::Status::Aborted("the database does not go on after the disk was full; start the server again");
    if (now >= deadline) return rocksdb::Status::NoSpace("the disk was full; the database has not yet written what it could not then");
    done_.WaitWithTimeout(&mutex_, deadline - now);
  }
  return result_;
}

}  // namespace tessera
