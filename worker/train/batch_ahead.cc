#include "worker/train/batch_ahead.h"

#include <utility>

#include "common/fault_point.h"

namespace tessera {

BatchAhead::BatchAhead(std::unique_ptr<RowStream> stream, uint64_t rows_max, std::vector<uint64_t> rare_ids,
                       std::function<void(const Batch&)> on_next)
    : stream_(std::move(stream)), rows_max_(rows_max), rare_ids_(std::move(rare_ids)), on_next_(std::move(on_next)) {
  thread_ = std::thread([this] { MakeBatches(); });
}

BatchAhead::~BatchAhead() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    changed_.SignalAll();
  }
  thread_.join();
}

absl::Status BatchAhead::Next(TrainingBatch* out) {
  MutexLock lock(&mutex_);
  while (!has_ready_ && !over()) changed_.Wait(&mutex_);
  if (!has_ready_) {
    if (!status_.ok()) return status_;
    out->batch = MakeBatch(Rows());
    out->next = ready_.next;
    return absl::OkStatus();
  }
  out->batch = std::move(ready_.batch);
  out->next = ready_.next;
  has_ready_ = false;
  changed_.SignalAll();
  return absl::OkStatus();
}

void BatchAhead::MakeBatches() {
  while (true) {
    Rows rows;
    Position next;
    const absl::Status status = stream_->Next(rows_max_, &rows, &next);
    Batch batch;
    if (status.ok()) batch = MakeBatch(std::move(rows), rare_ids_);
    FaultPoint("worker.batch_read");
    {
      MutexLock lock(&mutex_);
      while (has_ready_ && !stopping_) changed_.Wait(&mutex_);
      if (stopping_) return;
    }
    if (on_next_ != nullptr && status.ok()) on_next_(batch);
    MutexLock lock(&mutex_);
    status_ = status;
    if (status.ok()) {
      ready_ = {std::move(batch), next};
      has_ready_ = true;
    }
    changed_.SignalAll();
    if (over()) return;
  }
}

}  // namespace tessera
