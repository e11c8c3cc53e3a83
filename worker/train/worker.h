// The worker's loop: join, survey if asked, then compute what the coordinator says until it says stop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/coordinator_api.h"
#include "common/parameter_server_api.h"
#include "common/thread_pool.h"

namespace tessera {

struct WorkerOptions {
  std::string name;  // host and pid, for people
  uint64_t nonce = 0;
  // Connects to the servers' addresses (or hands out the embedded ones), by shard.
  std::function<absl::StatusOr<std::vector<ParameterServerApi*>>(const std::vector<std::string>& addresses)> connect;
  int threads = 0;  // compute threads; 0: all cores divided by training.workers
};

// Runs until the job is finished (OK), failed, or a peer was away for longer than its patience (the error says which).
absl::Status RunWorker(CoordinatorApi* coordinator, const WorkerOptions& options, Clock* clock);

}  // namespace tessera
