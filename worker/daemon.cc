#include "worker/daemon.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/rpc/parameter_server_client.h"
#include "worker/coordinator_client.h"
#include "worker/train/worker.h"

namespace tessera {
namespace {

// How often it is looked for a signal, or for the end of the job.
constexpr absl::Duration kWatchEvery = absl::Milliseconds(100);
// From a signal to the end of the process, at most.
constexpr absl::Duration kLeaveMax = absl::Seconds(20);

std::string HostAndProcess() {
  char host[256] = "unknown host";
  (void)gethostname(host, sizeof host - 1);
  return absl::StrCat(host, ", process ", getpid());
}

uint64_t RandomNonce() {
  std::random_device random;
  return static_cast<uint64_t>(random()) << 32 | random();
}

}  // namespace

absl::Status RunWorkerDaemon(const WorkerDaemonOptions& options, StopSignal* stop) {
  const std::unique_ptr<CoordinatorApi> coordinator = MakeCoordinatorClient(options.coordinator);
  std::vector<std::unique_ptr<ParameterServerApi>> servers;
  std::atomic<bool> stopping = false, over = false;

  WorkerOptions worker;
  worker.name = HostAndProcess();
  worker.nonce = RandomNonce();
  worker.identity = options.identity;
  worker.threads = options.threads;
  worker.patience = options.patience;
  worker.stopping = &stopping;
  worker.say = [](const std::string& line) { LogInfo(line); };
  worker.connect = [&servers](const std::vector<std::string>& addresses) -> absl::StatusOr<std::vector<ParameterServerApi*>> {
    std::vector<ParameterServerApi*> by_shard;
    for (const std::string& address : addresses) {
      servers.push_back(MakeParameterServerClient(static_cast<uint32_t>(by_shard.size()), address));
      by_shard.push_back(servers.back().get());
    }
    return by_shard;
  };

  LogInfo(absl::StrCat("looking for the coordinator at ", options.coordinator));
  std::thread watch([&] {
    while (!over.load() && !stop->WaitFor(kWatchEvery)) {
    }
    if (!over.load()) LogInfo("told to stop");
    stopping = true;
    const absl::Time end = Clock::Real()->Now() + kLeaveMax;
    while (!over.load() && Clock::Real()->Now() < end) Clock::Real()->SleepFor(kWatchEvery);
    if (over.load()) return;
    LogError(absl::StrCat("this worker did not come to an end within ", absl::FormatDuration(kLeaveMax), " and is ended in the middle"));
    std::_Exit(1);
  });
  const absl::Status status = RunWorker(coordinator.get(), worker, Clock::Real());
  over = true;
  watch.join();
  return status;
}

}  // namespace tessera
