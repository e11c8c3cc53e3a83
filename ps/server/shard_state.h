// All that one server holds in one incarnation: rows, chunks of dense variables, the steps and pushes applied to them, and the log and the
// database that bring all of it back after a crash (PROTOCOL of durability: README).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/mutex.h"
#include "common/thread_pool.h"
#include "proto/parameter_server.pb.h"
#include "proto/shard.pb.h"
#include "ps/durability/push_log.h"
#include "ps/server/background.h"
#include "ps/server/gradients.h"
#include "ps/server/ledger.h"
#include "ps/server/log_body.h"
#include "ps/server/sync_steps.h"
#include "ps/table/dense_store.h"
#include "ps/table/state_db.h"
#include "ps/table/tiered_row_store.h"

namespace tessera {

// Thread-safe, but for what the server's gate keeps apart: a commit and a save overlap with nothing.
//
// Updates are logged and applied one at a time, in the order of their LSNs, under one mutex; each is spread over the pool. So whatever an
// update decides is decided on the table with all earlier ones applied, and every partition sees them in the order of the log.
class ShardState {
 public:
  // Empty, or with this shard's part of the checkpoint `request.restore_from`, whatever the number of servers that saved it.
  // `folder` is where its database and log live ("" if it shall not keep anything); what is there is removed. The pool outlives it.
  // INVALID_ARGUMENT names the job's key where memory or log cannot hold two steps.
  static absl::StatusOr<std::unique_ptr<ShardState>> Make(const OpenRequest& request, const std::string& folder, ThreadPool* pool);
  // As it was when the last process ended, however that was: all acknowledged stages and pushes are there. NOT_FOUND where there is nothing
  // to go on from. DATA_LOSS names the file that is damaged, or says what is lost.
  static absl::StatusOr<std::unique_ptr<ShardState>> Recover(const std::string& folder, ThreadPool* pool);
  // Writes nothing: what was not written back stands in the log.
  ~ShardState();

  TieredRowStore& rows() { return *rows_; }
  DenseStore& dense() { return *dense_; }
  const GradientShape& shape() const { return shape_; }
  const OpenRequest& opened() const { return opened_; }
  // The very request that opened it, also before a restart.
  bool IsRepeat(const OpenRequest& request) const;
  SyncSteps& steps() { return steps_; }
  // Of the last update.
  uint64_t lsn() const {
    MutexLock lock(&update_mutex_);
    return lsn_;
  }
  void DescribePushed(SaveReply* reply) const {
    MutexLock lock(&update_mutex_);
    ledger_.Describe(reply);
  }
  // Whole batches pushed so far.
  uint64_t updates() const { return updates_.load(); }
  // The last step applied; async: the highest optimizer step.
  uint64_t step() const { return std::max(steps_.step(), pushed_step_.load()); }
  uint64_t CountRows() const;
  // Not OK once an update could not be applied as it was logged: then nothing here may be read or changed any more.
  absl::Status health() const;
  bool admits() const { return opened_.admission().sightings() > 1; }

  // shard_updates.cc. What is acknowledged by OK is as durable as the job asks for. RESOURCE_EXHAUSTED begins with "full: " where the
  // server may have room later.
  // False: a repeat of one that is staged already.
  absl::StatusOr<bool> Stage(const StageRequest& request, CheckedGradients checked);
  // A part of this attempt was refused: what was staged of it is forgotten, also by the log.
  absl::Status DropStage(const StageRequest& request);
  // Applies the stages that d(t) names. REQUIRES: steps() stands right before t.
  absl::Status Commit(const Decision& decision, bool wait_durable);
  struct Pushed {
    bool repeat = false;     // of one that was applied before
    uint64_t staleness = 0;  // batches applied between the reading of its values and it
  };
  absl::StatusOr<Pushed> Push(const PushRequest& request, const CheckedGradients& checked);
  // Ends the worker's generation, and says what is here of it.
  absl::StatusOr<FenceReply> Fence(const Peer& peer);
  // What the rule removes from a partition; `dry_run` only lists it.
  absl::StatusOr<std::vector<uint64_t>> Evict(const Eviction& rule, uint32_t partition, bool dry_run);

  // shard_upkeep.cc. Writes what changed since the last save and links it into `directory`.
  absl::StatusOr<std::vector<SavedFile>> Save(const std::string& directory);
  // Writes back all that changed, so that the next start has nothing to replay.
  absl::Status WriteBackAll();
  uint64_t ContentDigest() const { return rows_->ContentDigest() + dense_->ContentDigest(); }
  // The rows of a coming step, brought into memory by another thread; the newest hint wins.
  void Warm(absl::Span<const uint64_t> ids);
  void Describe(DescribeServerReply* reply) const;
  // Reads all of the database's files: DATA_LOSS names the damaged one, though nobody has asked for what is in it.
  absl::Status Verify() const { return db_ == nullptr ? absl::OkStatus() : db_->Verify(); }

 private:
  class Replay;

  ShardState(OpenRequest opened, std::string folder);
  absl::Status MakeParts(ThreadPool* pool, bool existing);
  absl::Status Restore(const std::string& from, ThreadPool* pool);
  absl::Status LoadSightings(absl::string_view counters);
  absl::Status OpenLog(uint64_t first_lsn, uint64_t next_lsn_min, absl::FunctionRef<absl::Status(const LogRecord&)> replay);
  void StartUpkeep();
  bool has_log() const { return !folder_.empty() && has_log_; }

  // shard_updates.cc
  // Rows that may be dirty when an update of so many ids begins.
  uint64_t DirtyRowsBeside(uint64_t ids) const { return std::max(dirty_rows_max_, ids) - ids; }
  absl::Status WaitForRoom(uint64_t ids, uint64_t bytes, const std::string& sender);
  absl::StatusOr<uint64_t> Append(LogKind kind, const LogBody& body, LogRoom room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(update_mutex_);
  absl::Status WaitDurable(uint64_t lsn);
  absl::Status ApplyUpdate(const PreparedUpdate& update, absl::Span<const CheckedGradients* const> sources, double dense_learning_rate,
                           UpdateRule rule);
  void Fail(const absl::Status& status);

  // shard_replay.cc
  absl::Status ReplayAll(const ShardRecord& record);
  absl::Status CheckNothingLost(const ShardRecord& record, uint64_t last_lsn) const;
  absl::Status ReplayRecord(const LogRecord& record, Replay* replay);
  absl::Status ReplayUpdate(const ReadBody& body, absl::Span<const CheckedGradients* const> sources, double sparse_learning_rate,
                            double dense_learning_rate, const UpdateRule& rule);
  absl::Status ReplayCommit(uint64_t lsn, const ReadBody& body, Replay* replay);

  // shard_upkeep.cc
  void Upkeep();
  absl::Status WriteBackSome() ABSL_EXCLUSIVE_LOCKS_REQUIRED(upkeep_mutex_);
  absl::Status WriteBackUpTo(uint64_t lsn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(upkeep_mutex_);
  absl::Status Shorten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(upkeep_mutex_);
  absl::StatusOr<ShardRecord> PutRecord() ABSL_EXCLUSIVE_LOCKS_REQUIRED(upkeep_mutex_);
  absl::Status DropLog(const ShardRecord& flushed) ABSL_EXCLUSIVE_LOCKS_REQUIRED(upkeep_mutex_);
  void FillRecord(ShardRecord* record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(update_mutex_);
  absl::Status BeforeWrite(uint64_t lsn);
  void Progress();
  void WarmNext();

  const OpenRequest opened_;
  const std::string folder_;
  const bool has_log_;
  GradientShape shape_;
  uint64_t memory_rows_max_ = 0;  // 0: no budget
  uint64_t dirty_rows_max_ = 0;   // of them: what is left takes the rows of staged parts and those that come in
  std::unique_ptr<StateDb> db_;   // before what uses it; null without a folder
  std::unique_ptr<TieredRowStore> rows_;
  std::unique_ptr<DenseStore> dense_;
  std::unique_ptr<PushLog> log_;  // null without one
  SyncSteps steps_;
  std::atomic<uint64_t> pushed_step_{0};
  std::atomic<uint64_t> updates_{0};
  std::atomic<uint64_t> unkicked_ids_{0};  // of updates since upkeep was last called for
  uint64_t replayed_records_ = 0;
  uint64_t replayed_bytes_ = 0;
  absl::Duration replay_time_;

  // Held while an update is decided, logged and applied.
  mutable Mutex update_mutex_;
  PushLedger ledger_ ABSL_GUARDED_BY(update_mutex_);
  uint64_t lsn_ ABSL_GUARDED_BY(update_mutex_) = 0;  // of the last update

  // One writer to the database at a time. Taken before update_mutex_.
  Mutex upkeep_mutex_ ABSL_ACQUIRED_BEFORE(update_mutex_);
  std::atomic<double> write_back_rate_{0};
  std::atomic<uint64_t> needed_lsn_{0};

  mutable Mutex progress_mutex_;
  CondVar progress_;
  absl::Status failure_ ABSL_GUARDED_BY(progress_mutex_);
  std::string stalled_ ABSL_GUARDED_BY(progress_mutex_);
  uint64_t wanted_ids_ ABSL_GUARDED_BY(progress_mutex_) = 0;  // of the largest update that has been waiting for room since the last upkeep
  std::vector<uint64_t> hint_ ABSL_GUARDED_BY(progress_mutex_);

  // Last: their threads use all above.
  std::unique_ptr<Background> upkeep_;
  std::unique_ptr<Background> warmer_;
};

}  // namespace tessera
