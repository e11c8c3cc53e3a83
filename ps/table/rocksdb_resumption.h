// A full disk. RocksDB is not asked to write where there is little room. If a flush or a compaction fails all the same, it stops until it is
// told to resume, which is done here at the next call that finds room.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include <rocksdb/db.h>
#include <rocksdb/listener.h>

namespace tessera {

// Told by RocksDB's own threads. Thread-safe.
class StopListener : public rocksdb::EventListener {
 public:
  // Whether there was an error since the last call.
  bool TakeStopped() { return stopped_.exchange(false); }
  void SetStopped() { stopped_.store(true); }
  bool stopped() const { return stopped_.load(); }
  // What is in files when the database is opened.
  void SetFlushed(uint64_t number);
  // False when changes up to `number` are not in files within the time, or RocksDB has stopped.
  bool WaitFlushed(uint64_t number, absl::Duration patience);

  void OnBackgroundError(rocksdb::BackgroundErrorReason, rocksdb::Status* error) override;
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override;
  void OnCompactionBegin(rocksdb::DB*, const rocksdb::CompactionJobInfo&) override;
  void OnFlushBegin(rocksdb::DB*, const rocksdb::FlushJobInfo&) override;
  void OnFlushCompleted(rocksdb::DB*, const rocksdb::FlushJobInfo& info) override;

 private:
  std::atomic<bool> stopped_{false};
  Mutex mutex_;
  CondVar changed_;
  uint64_t flushed_ ABSL_GUARDED_BY(mutex_) = 0;  // number of the last change that is in a file
};

// Thread-safe. Goes before its database.
class Resumption {
 public:
  // `room_bytes`: what all write buffers take on disk. The listener is one of the database's.
  Resumption(rocksdb::DB* db, std::shared_ptr<StopListener> listener, std::string folder, uint64_t room_bytes);
  ~Resumption();
  Resumption(const Resumption&) = delete;
  Resumption& operator=(const Resumption&) = delete;

  // Does `body`, which writes; where RocksDB has stopped it is resumed first. NoSpace where the disk has no room for all write buffers, or
  // resuming takes longer than a few seconds: a later call comes back to it. Any other error where RocksDB does not resume at all.
  rocksdb::Status Try(absl::FunctionRef<rocksdb::Status()> body);

 private:
  bool HasRoom() const;
  // False where background work that failed, or began before, is not over by then.
  bool WaitIdle(absl::Time deadline) const;
  rocksdb::Status Resume();

  rocksdb::DB* const db_;
  const std::shared_ptr<StopListener> listener_;
  const std::string folder_;
  const uint64_t room_bytes_;
  Mutex mutex_;
  CondVar done_;
  bool resuming_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Time begin_ ABSL_GUARDED_BY(mutex_);        // of resuming
  rocksdb::Status result_ ABSL_GUARDED_BY(mutex_);  // of the last time
  std::thread thread_ ABSL_GUARDED_BY(mutex_);      // in which RocksDB resumes; over once `resuming_` is false
};

}  // namespace tessera
