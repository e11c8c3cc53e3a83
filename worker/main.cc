// tessera-worker: one worker of a job. It gets everything else from the coordinator, which it may be started before.
// Exit code: 0 the job is finished (now or before), 1 it failed, or was interrupted, or this worker was stopped by SIGTERM or SIGINT, 2 usage wrong.
#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "common/fault_point.h"
#include "common/heap.h"
#include "common/log.h"
#include "worker/daemon.h"

int main(int argc, char** argv) {
  tessera::KeepFreedMemory();
  tessera::StopSignal stop;
  tessera::WorkerDaemonOptions options;
  std::string patience = "5m";
  std::string kill_at;
  CLI::App app("One worker of a job. It may be started before the servers, and ends with the job.", "tessera-worker");
  app.add_option("--coordinator", options.coordinator, "host:port of server 0")->required();
  app.add_option("--threads", options.threads, "compute threads; default: training.threads, else the cores divided by training.workers")
      ->check(CLI::Range(1, 1024));
  app.add_option("--patience", patience, "how long the coordinator is waited for: 90s, 5m")->capture_default_str();
  app.add_option("--identity", options.identity,
                 "a name of this worker's own that stays when it is started again: the new process takes the old one's place at once");
  app.add_option("--kill-at", kill_at, "NAME:N[:TERM|STOP], for drills: this process kills itself at the N-th pass through a fault point")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (!absl::ParseDuration(patience, &options.patience) || options.patience < absl::ZeroDuration()) {
    std::fprintf(stderr, "tessera-worker: --patience: \"%s\" is no duration; write 90s or 5m\n", patience.c_str());
    return 2;
  }
  if (!kill_at.empty()) {
    if (const absl::Status valid = tessera::KillAt(kill_at); !valid.ok()) {
      std::fprintf(stderr, "tessera-worker: %s\n", std::string(valid.message()).c_str());
      return 2;
    }
  }
  tessera::StartLog("worker");
  const absl::Status status = tessera::RunWorkerDaemon(options, &stop);
  if (status.ok()) return 0;
  std::fprintf(stderr, "tessera-worker: %s\n", std::string(status.message()).c_str());
  return 1;
}
