// The log of what a server has acknowledged: records in order, each with a number (LSN), kept until nothing needs them any more.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "ps/durability/log_segment.h"

namespace tessera {

// kBeyond: of a record that must not be refused, whatever the log holds. Who appends such records keeps their number small.
enum class LogRoom { kLimited, kBeyond };

struct PushLogOptions {
  std::string folder;
  std::string owner{};         // whose log it is: files of another one are refused
  uint64_t bytes_max = 0;      // of all records
  uint64_t segment_bytes = 64u << 20;
  bool power = false;          // what WaitDurable has returned for survives a loss of power, not only of the process
};

// Thread-safe. A record is sound or it is not: its checksum covers all of it. A record that is not sound ends the log, unless a later sound
// one says that it was durable: that is damage.
class PushLog {
 public:
  // Calls `replay` for every record from `first_lsn` on, in order; then appends go on after the last, with LSNs of at least
  // `next_lsn_min`. What was read is durable. DATA_LOSS names the file and the place of damage. `replay`'s first error ends it.
  static absl::StatusOr<std::unique_ptr<PushLog>> Open(const PushLogOptions& options, uint64_t first_lsn, uint64_t next_lsn_min,
                                                       absl::FunctionRef<absl::Status(const LogRecord&)> replay);
  // The same reading, changing nothing.
  static absl::Status Scan(const PushLogOptions& options, uint64_t first_lsn, absl::FunctionRef<absl::Status(const LogRecord&)> replay);
  // Removes a log's files; a folder that is not there is no error.
  static absl::Status Remove(const std::string& folder);

  // Writes a record whose body is the pieces back to back, and returns its LSN. RESOURCE_EXHAUSTED names the folder where the disk is full,
  // storage.log_per_server where the log would grow beyond bytes_max; then nothing of it stays, and a later append may succeed.
  absl::StatusOr<uint64_t> Append(LogKind kind, absl::Span<const absl::string_view> pieces, LogRoom room = LogRoom::kLimited);
  // Returns when the record is durable; one sync serves all who wait. DEADLINE_EXCEEDED names the folder. After a sync that failed nothing
  // is durable any more, and nothing is appended: the system may have dropped what it could not write. What is on disk shows the next Open.
  absl::Status WaitDurable(uint64_t lsn, absl::Duration patience);
  // WaitDurable of all that was appended.
  absl::Status Sync();
  // Writes a file of zeros for the segment to come, unless there is one to be reused: room for a record in new pages costs several times what
  // the record does, and a sync of blocks that were never written has to write down where they are. Slow, and beside appends. An append does
  // without it where it failed, and says what is wrong. RESOURCE_EXHAUSTED: the disk has less than four segments left, which others need.
  absl::Status PrepareSpare();
  // It would do something.
  bool WantsSpare() const;
  // Removes segments of which nothing from `needed_lsn` on is needed; a few files are kept for reuse.
  absl::Status Drop(uint64_t needed_lsn);

  uint64_t next_lsn() const;
  uint64_t durable_lsn() const;
  uint64_t bytes() const;
  uint64_t bytes_max() const { return options_.bytes_max; }

 private:
  struct Closed {
    uint64_t number;
    uint64_t last_lsn;
    uint64_t bytes;
  };

  explicit PushLog(PushLogOptions options);
  std::string PathOf(uint64_t number) const;
  bool SpareWanted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  uint64_t BytesHeld() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Roll(uint64_t record_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CloseCurrent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status SyncTo(uint64_t lsn, absl::Time deadline);
  absl::Status NoteSync(absl::Status status, uint64_t lsn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PushLogOptions options_;
  const uint64_t id_;  // made of the owner
  mutable Mutex mutex_;
  CondVar synced_;
  std::deque<Closed> closed_ ABSL_GUARDED_BY(mutex_);              // older segments, in order
  std::shared_ptr<LogSegment> current_ ABSL_GUARDED_BY(mutex_);    // null: the next append makes one
  std::deque<uint64_t> spares_ ABSL_GUARDED_BY(mutex_);            // files that may be used again
  bool spare_tried_ ABSL_GUARDED_BY(mutex_) = false;               // during the current segment: one that failed is not tried again at once
  uint64_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t next_lsn_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t synced_lsn_ ABSL_GUARDED_BY(mutex_) = 0;
  bool syncing_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status sync_failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera
