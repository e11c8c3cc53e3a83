// The worker's side of the parameter servers: splits by shard, cuts to size, sends to all shards at once, retries what may be retried.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/parameter_server_api.h"
#include "proto/parameter_server.pb.h"
#include "proto/plan.pb.h"
#include "worker/batch/batch.h"

namespace tessera {

class Hints;

// Values of one pull, in the layout of ModelValues.
struct PulledValues {
  std::vector<float> rows;
  std::vector<float> dense;
  uint64_t step = 0;  // the server step the values were read at (of shard 0)
  std::vector<uint32_t> absent;  // indices of ids that use a rare row (UseRareRows), ascending; only of a batch with rare rows
};

// Owned by one thread; it uses threads of its own to reach several shards at once. UNAVAILABLE, DEADLINE_EXCEEDED and a server that
// is full (IsFull) are retried with back-off until `patience` has passed; the error then names the address. An answer of the wrong size is INTERNAL and names the shard.
class ParameterClient {
 public:
  struct Options {
    std::string job;
    uint64_t incarnation = 0;
    uint64_t map_version = 0;
    uint32_t worker = 0;
    uint64_t generation = 0;
    absl::Duration patience = absl::Minutes(5);
    const std::atomic<bool>* stopping = nullptr;  // once true, nothing is retried
    Hints* hints = nullptr;  // told after each pull which servers have rows on disk only; may be null, outlives the client
  };
  // One API per shard, in shard order; they outlive the client. `plan` is only read here.
  ParameterClient(const Plan& plan, std::vector<ParameterServerApi*> shards, Options options, Clock* clock);
  ~ParameterClient();

  // sync: step t with d(t-1). async: step 0, decision nullptr. evaluation: unknown ids give zeros.
  absl::Status Pull(const Batch& batch, uint64_t step, const Decision* decision, bool evaluation, PulledValues* values);
  // Sends a share's gradient sums of step t to every shard, empty ones too; returns after all acks. Ids without occurrences are not sent;
  // those whose occurrences used a rare row are sent as sighted, without a sum. REQUIRES: `rows` and `dense` have the
  // layout of PulledValues.
  absl::Status Stage(const Batch& batch, uint64_t step, const Decision& decision, uint32_t share, absl::Span<const float> rows,
                     absl::Span<const float> dense);
  // async: applied on arrival. Sequence numbers are kept here, without gaps per shard. REQUIRES: as Stage.
  struct PushOptions {
    TaskDone task_done;  // as PushRequest's
    uint64_t optimizer_step = 0;
    double sparse_learning_rate = 0;
    double dense_learning_rate = 0;
    uint32_t period = 0;
    double divisor = 1;  // the update is gradients / divisor: the rows a whole batch has
    bool compensate = false;  // servers divide learning rates by the staleness
  };
  // REQUIRES: the last pull was that of the gradients' values. `staleness`: batches of others that a server applied between, the most of all.
  absl::Status Push(const Batch& batch, const PushOptions& options, absl::Span<const float> rows, absl::Span<const float> dense,
                    uint64_t* staleness);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
