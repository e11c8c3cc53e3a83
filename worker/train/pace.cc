#include "worker/train/pace.h"

#include "common/retry.h"
#include "common/status_macros.h"

namespace tessera {

void Pace::Join(const JoinReply& joined, const std::atomic<bool>* stopping) {
  request_.set_worker(joined.worker());
  request_.set_generation(joined.generation());
  patience_ = absl::Milliseconds(joined.patience_ms());
  stopping_ = stopping;
}

absl::Status Pace::Await() {
  request_.set_clock(clock_);
  const Retry retry(time_, patience_, stopping_);
  while (stopping_ == nullptr || !stopping_->load(std::memory_order_relaxed)) {
    AdvanceReply reply;
    TESSERA_RETURN_IF_ERROR(retry.Run([&] { return coordinator_->Advance(request_, &reply); }));
    if (reply.over()) return absl::AbortedError("step over: the task is not this worker's any more");
    if (reply.granted()) return absl::OkStatus();
  }
  return absl::CancelledError("stopped");
}

}  // namespace tessera
