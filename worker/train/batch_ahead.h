// Makes the next batch of a stream while the current one is computed.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/mutex.h"
#include "proto/parameter_server.pb.h"
#include "worker/batch/batch.h"
#include "worker/batch/row_stream.h"

namespace tessera {

struct TrainingBatch {
  Batch batch;
  Position next;  // of the row after it
};

// Cuts a stream into batches of `rows_max` rows (the last one fewer) on a thread of its own, one batch ahead. Owned by one thread.
class BatchAhead {
 public:
  // `rare_ids`: RareIds of the plan. `on_next` (may be null) is shown each batch on that thread, once the batch before it is taken.
  BatchAhead(std::unique_ptr<RowStream> stream, uint64_t rows_max, std::vector<uint64_t> rare_ids,
             std::function<void(const Batch&)> on_next = nullptr);
  ~BatchAhead();
  BatchAhead(const BatchAhead&) = delete;
  BatchAhead& operator=(const BatchAhead&) = delete;

  // The next batch. An empty one means that the stream had ended before. An error is final. The wait ends when the stream has read a
  // batch; reading is local, so it has no deadline of its own.
  absl::Status Next(TrainingBatch* out);

 private:
  void MakeBatches();
  bool over() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !status_.ok() || ready_.next.end(); }

  const std::unique_ptr<RowStream> stream_;  // used by thread_ only
  const uint64_t rows_max_;
  const std::vector<uint64_t> rare_ids_;
  const std::function<void(const Batch&)> on_next_;
  Mutex mutex_;
  CondVar changed_;
  TrainingBatch ready_ ABSL_GUARDED_BY(mutex_);
  bool has_ready_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace tessera
