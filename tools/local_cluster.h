// Real daemons on this machine: the processes of one `tessera cluster run`.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "tools/child_process.h"
#include "tools/cluster_lines.h"
#include "tools/run_folder.h"

namespace tessera {

// Owned by one thread, which must not end before this is destroyed. Destruction kills what still runs.
class LocalCluster {
 public:
  explicit LocalCluster(Clock* clock) : clock_(clock) {}

  // Starts the servers, then the workers; each writes its own log into the run's folder.
  absl::Status Start(const ClusterLines& lines, const RunFolder& folder);
  // An error if a server has ended, or a worker with an error: it names the process and has the last lines of its log.
  absl::Status Health();
  bool WorkersRunning();
  bool CoordinatorRunning() { return servers_.front().Running(); }
  // Waits for nothing. OK if it has ended well. REQUIRES: !CoordinatorRunning().
  absl::Status CoordinatorEnd();
  // Asks the coordinator for a checkpoint and the end of the job.
  void Interrupt();
  // The orderly end once the job is over: workers leave by themselves, then servers are told to. An error names who does not; destruction
  // kills it.
  absl::Status Stop();

 private:
  bool AllEnded(std::vector<ChildProcess>* children, absl::Duration timeout);

  Clock* const clock_;
  std::vector<ChildProcess> servers_;
  std::vector<ChildProcess> workers_;
};

}  // namespace tessera
