// The worker's loop: join, survey if asked, then compute what the coordinator says until it says stop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/coordinator_api.h"
#include "common/parameter_server_api.h"
#include "common/thread_pool.h"

namespace tessera {

struct WorkerOptions {
  std::string name;  // host and pid, for people
  uint64_t nonce = 0;
  std::string identity;  // as JoinRequest's
  // Connects to the servers' addresses (or hands out the embedded ones), by shard. The servers outlive the worker.
  std::function<absl::StatusOr<std::vector<ParameterServerApi*>>(const std::vector<std::string>& addresses)> connect;
  int threads = 0;             // compute threads; 0: training.threads, else all cores divided by training.workers
  ThreadPool* pool = nullptr;  // the process's pool where it has one already; then `threads` is not looked at
  absl::Duration patience = absl::Minutes(5);  // for the coordinator to appear; once joined, the job's own patience counts
  const std::atomic<bool>* stopping = nullptr;          // once true, the worker leaves within seconds with CANCELLED, and tells the coordinator
  std::function<void(const std::string&)> say;          // lines for people; may be null
};

// Runs until the job is finished (OK), failed, or a peer was away for longer than its patience (the error says which). An error of this
// worker (a bad row, a gradient that is not finite, a server that never came) is reported to the coordinator, which then stops everybody.
absl::Status RunWorker(CoordinatorApi* coordinator, const WorkerOptions& options, Clock* clock);

}  // namespace tessera
