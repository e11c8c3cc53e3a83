// The store of `tessera bench step`: a real parameter server of this process, driven step by step as in `sync`.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/thread_pool.h"
#include "proto/plan.pb.h"
#include "ps/server/server.h"
#include "tools/temporary_folder.h"
#include "worker/client/parameter_client.h"
#include "worker/model/step_bench.h"

namespace tessera {

// Each push stages a step; the next pull commits it, as every pull of a sync run does. Owned by one thread.
class BenchStore {
 public:
  // An empty server with the plan's table and variables. `pool` and `clock` outlive the store.
  static absl::StatusOr<std::unique_ptr<BenchStore>> Open(const Plan& plan, ThreadPool* pool, Clock* clock);

  // Valid as long as this is.
  StepBenchStore Functions();

 private:
  BenchStore(TemporaryFolder folder, ThreadPool* pool);
  absl::StatusOr<ModelValues> Pull(const Batch& batch);
  absl::Status Push(const Batch& batch, const ModelGradients& gradients);

  const TemporaryFolder folder_;
  Server server_;
  std::unique_ptr<ParameterClient> client_;
  Decision last_;  // d(t-1)
  PulledValues values_;
};

}  // namespace tessera
