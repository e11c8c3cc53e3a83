// The worker daemon: everything of one worker process, put together.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/stop_signal.h"

namespace tessera {

struct WorkerDaemonOptions {
  std::string coordinator;                     // host:port of server 0
  std::string identity;                        // as WorkerOptions::identity
  int threads = 0;                             // as WorkerOptions::threads
  absl::Duration patience = absl::Minutes(5);  // for the coordinator to appear
};

// Runs until the job is over. OK: it is finished, now or before. CANCELLED: a signal stopped this worker, or the job was interrupted. A worker
// that is told to stop and does not come to an end (a server that hangs, a look at much data) ends its process: others take over as ever.
// Any other error says what failed.
absl::Status RunWorkerDaemon(const WorkerDaemonOptions& options, StopSignal* stop);

}  // namespace tessera
