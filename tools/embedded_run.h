// A whole cluster in this process, joined by direct calls: the same coordinator, servers and workers as the daemons, without sockets.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/job/job_file.h"
#include "common/mutex.h"
#include "common/thread_pool.h"
#include "ps/coordinator/coordinator.h"
#include "ps/server/server.h"
#include "tools/job_folders.h"

namespace tessera {

// Trains one job. The caller holds the lock of the state folder. Owned by one thread, which sees the workers' end by Over.
class EmbeddedRun {
 public:
  struct Options {
    JobFile job;
    JobFolders folders;
    uint32_t servers = 1;
    uint32_t workers = 1;
    int threads = 1;  // compute threads of all workers together
  };
  // `clock` outlives the run.
  EmbeddedRun(Options options, Clock* clock);
  // Ends the job first if it is not over: the coordinator fails it and the workers return.
  ~EmbeddedRun();
  EmbeddedRun(const EmbeddedRun&) = delete;
  EmbeddedRun& operator=(const EmbeddedRun&) = delete;

  // Reads the newest checkpoint and starts the workers.
  absl::Status Start();
  Coordinator* coordinator() { return coordinator_.get(); }
  // Whether the job has ended, waiting for it at most `timeout`.
  bool Over(absl::Duration timeout);
  // How it ended: OK, or the first worker's error. Waits for the workers. REQUIRES: Over returned true.
  absl::Status Result();

 private:
  void Work(uint32_t index);
  void Join();

  const Options options_;
  Clock* const clock_;
  ThreadPool pool_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<ParameterServerApi*> apis_;
  std::unique_ptr<Coordinator> coordinator_;
  std::vector<std::thread> workers_;

  Mutex mutex_;
  uint32_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status result_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera
