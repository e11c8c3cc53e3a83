#include "tools/local_cluster.h"

#include <signal.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

constexpr int kTailLines = 20;
// A worker learns of the end by its next long poll.
constexpr absl::Duration kWorkersLeave = absl::Seconds(30);
// A server told to stop may have a checkpoint to save first.
constexpr absl::Duration kServersLeave = absl::Minutes(3);

absl::Status EndedEarly(const ChildProcess& child) {
  const std::string tail = LastLines(child.log(), kTailLines);
  return absl::AbortedError(absl::StrCat(child.name(), " ended early (", child.HowItEnded(), "); the end of its log ", child.log(), ":\n",
                                         tail.empty() ? "(empty)" : tail));
}

}  // namespace

absl::Status LocalCluster::Start(const ClusterLines& lines, const RunFolder& folder) {
  for (uint32_t i = 0; i < lines.servers.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(ChildProcess child,
                             ChildProcess::Start(absl::StrCat("server ", i), lines.servers[i], folder.ServerLogPath(i)));
    servers_.push_back(std::move(child));
  }
  for (uint32_t i = 0; i < lines.workers.size(); ++i) {
    TESSERA_ASSIGN_OR_RETURN(ChildProcess child,
                             ChildProcess::Start(absl::StrCat("worker ", i), lines.workers[i], folder.WorkerLogPath(i)));
    workers_.push_back(std::move(child));
  }
  return absl::OkStatus();
}

absl::Status LocalCluster::Health() {
  for (ChildProcess& server : servers_) {
    if (!server.Running()) return EndedEarly(server);
  }
  for (ChildProcess& worker : workers_) {
    if (!worker.Running() && !worker.succeeded()) return EndedEarly(worker);
  }
  return absl::OkStatus();
}

bool LocalCluster::WorkersRunning() {
  return std::any_of(workers_.begin(), workers_.end(), [](ChildProcess& worker) { return worker.Running(); });
}

absl::Status LocalCluster::CoordinatorEnd() { return servers_.front().succeeded() ? absl::OkStatus() : EndedEarly(servers_.front()); }

void LocalCluster::Interrupt() { servers_.front().Signal(SIGTERM); }

bool LocalCluster::AllEnded(std::vector<ChildProcess>* children, absl::Duration timeout) {
  const absl::Time deadline = clock_->Now() + timeout;
  while (std::any_of(children->begin(), children->end(), [](ChildProcess& child) { return child.Running(); })) {
    if (clock_->Now() >= deadline) return false;
    clock_->SleepFor(absl::Milliseconds(20));
  }
  return true;
}

absl::Status LocalCluster::Stop() {
  if (!AllEnded(&workers_, kWorkersLeave)) {
    for (ChildProcess& worker : workers_) worker.Signal(SIGTERM);
    if (!AllEnded(&workers_, kWorkersLeave)) return absl::DeadlineExceededError("a worker did not end with the job; it was killed");
  }
  // The coordinator first: it may need the others for a last checkpoint.
  servers_.front().Signal(SIGTERM);
  const absl::Time deadline = clock_->Now() + kServersLeave;
  while (servers_.front().Running() && clock_->Now() < deadline) clock_->SleepFor(absl::Milliseconds(20));
  for (ChildProcess& server : servers_) server.Signal(SIGTERM);
  if (!AllEnded(&servers_, absl::Seconds(30))) return absl::DeadlineExceededError("a server did not end when told to; it was killed");
  return absl::OkStatus();
}

}  // namespace tessera
