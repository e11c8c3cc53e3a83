// Tells servers whose rows are partly on disk which rows the next batch needs, while the current one is computed.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/parameter_server_api.h"
#include "worker/batch/batch.h"

namespace tessera {

// A hint is never waited for: a thread of its own sends it, a newer batch takes the place of one that was not sent yet, and an error is
// logged once and changes nothing. Nothing is sent to a server that has all its rows in memory. Thread-safe.
class Hints {
 public:
  // One API per shard, in shard order; they outlive this. `peer` says who speaks; its shard and shards are filled in here.
  Hints(std::vector<ParameterServerApi*> shards, const Peer& peer);
  // Ends after the call that is being made.
  ~Hints();
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;

  void SetIncarnation(uint64_t incarnation);
  // What the last pull of a shard said.
  void NoteSpilled(uint32_t shard, bool spilled) { spilled_[shard].store(spilled, std::memory_order_relaxed); }
  // The ids of the next batch; copies those of spilled shards and returns.
  void Offer(const Batch& batch);

 private:
  void Send();

  const std::vector<ParameterServerApi*> shards_;
  std::vector<std::atomic<bool>> spilled_;  // by shard
  Mutex mutex_;
  CondVar changed_;
  Peer peer_ ABSL_GUARDED_BY(mutex_);
  std::vector<AheadRequest> next_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace tessera
