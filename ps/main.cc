// tessera-ps: one parameter server of a job; shard 0 also hosts its coordinator.
// Exit code: 0 stopped as asked, 1 the job failed or came to no checkpoint, or the server could not start, 2 usage or job file wrong.
#include <cstdio>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "common/fault_point.h"
#include "common/heap.h"
#include "common/log.h"
#include "common/stop_signal.h"
#include "ps/daemon.h"

namespace {

int Fail(const absl::Status& status, int code) {
  std::fprintf(stderr, "tessera-ps: %s\n", std::string(status.message()).c_str());
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  tessera::KeepFreedMemory();
  tessera::StopSignal stop;
  std::string job_path;
  std::vector<std::string> sets;
  std::string kill_at;
  tessera::ServerDaemonOptions options;
  CLI::App app("One parameter server of a job. It serves until SIGTERM, also when the job is over, so that late workers learn of its end.",
               "tessera-ps");
  app.add_option("--job", job_path, "job file; the same on every server")->required();
  app.add_option("--set", sets, "KEY=VALUE over the job file, e.g. training.workers=2; may be repeated")->allow_extra_args(false);
  app.add_option("--servers", options.servers, "host:port of every server, by shard: a:7000,b:7000")->required()->delimiter(',');
  app.add_option("--shard", options.shard, "which of them this is, from 0")->required();
  app.add_option("--listen", options.listen, "host:port to listen on; default: the own port of --servers");
  app.add_option("--threads", options.threads, "default: the cores, divided by the servers of this host")->check(CLI::Range(1, 1024));
  app.add_option("--kill-at", kill_at, "NAME:N[:TERM|STOP], for drills: this process kills itself at the N-th pass through a fault point")->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (const absl::Status valid = tessera::CheckServers(options); !valid.ok()) return Fail(valid, 2);
  if (!kill_at.empty()) {
    if (const absl::Status valid = tessera::KillAt(kill_at); !valid.ok()) return Fail(valid, 2);
  }
  absl::StatusOr<tessera::JobFile> job = tessera::LoadJob(job_path, sets);
  if (!job.ok()) return Fail(job.status(), 2);
  options.job = *std::move(job);
  tessera::StartLog("ps " + std::to_string(options.shard));

  tessera::ServerDaemon daemon(std::move(options));
  if (const absl::Status status = daemon.Init(); !status.ok()) return Fail(status, 1);
  if (const absl::Status status = daemon.Start(); !status.ok()) return Fail(status, 1);
  while (!stop.WaitFor(absl::Seconds(1))) daemon.Watch();
  const absl::Status status = daemon.Shutdown();
  return status.ok() ? 0 : Fail(status, 1);
}
