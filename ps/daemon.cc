#include "ps/daemon.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/log.h"
#include "common/partition.h"
#include "common/rpc/parameter_server_client.h"
#include "common/status_macros.h"
#include "ps/coordinator_service.h"
#include "ps/parameter_server_service.h"

namespace tessera {
namespace {

// How long an interrupted job may take to come to its next decision and save: who stops a service often kills what is left after 30 seconds.
// Where it is not enough, the job goes on from the log instead.
constexpr absl::Duration kInterruptMax = absl::Seconds(20);
// Calls in progress end within this: a long poll returns after kPollMs.
constexpr absl::Duration kGrace = absl::Seconds(3);

absl::string_view HostOf(absl::string_view address) { return address.substr(0, address.rfind(':')); }

bool IsLoopback(absl::string_view host) { return host == "localhost" || host == "[::1]" || absl::StartsWith(host, "127."); }

absl::StatusOr<std::string> AbsoluteFolder(absl::string_view key, const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) return absl::ErrnoToStatus(error.value(), absl::StrCat(key, ": cannot find out where ", path, " is"));
  return absolute.lexically_normal().string();
}

int ThreadsFor(const ServerDaemonOptions& options) {
  if (options.threads > 0) return options.threads;
  const absl::string_view host = HostOf(options.servers[options.shard]);
  const auto same = std::count_if(options.servers.begin(), options.servers.end(), [&](const std::string& s) { return HostOf(s) == host; });
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / static_cast<int>(same));
}

}  // namespace

absl::Status CheckServers(const ServerDaemonOptions& options) {
  std::vector<std::string> addresses = options.servers;
  if (!options.listen.empty()) addresses.push_back(options.listen);
  for (const std::string& address : addresses) {
    uint32_t port = 0;
    const size_t colon = address.rfind(':');
    if (colon == std::string::npos || colon == 0 || !absl::SimpleAtoi(address.substr(colon + 1), &port) || port > 65535) {
      return absl::InvalidArgumentError(absl::StrCat("\"", address, "\" is no address; write host:port, for example 10.0.0.1:7000"));
    }
  }
  if (options.servers.size() > kPartitions) return absl::InvalidArgumentError(absl::StrCat("--servers: at most ", kPartitions, " servers"));
  if (options.shard >= options.servers.size()) {
    return absl::InvalidArgumentError(absl::StrCat("--shard ", options.shard, ": there are ", options.servers.size(),
                                                   " servers, so shards count from 0 to ", options.servers.size() - 1));
  }
  return absl::OkStatus();
}

ServerDaemon::ServerDaemon(ServerDaemonOptions options) : options_(std::move(options)) {}

ServerDaemon::~ServerDaemon() {
  if (rpc_server_ != nullptr) rpc_server_->Shutdown(absl::ZeroDuration());
}

absl::Status ServerDaemon::Init() {
  // Where state lies does not depend on the data, unlike other defaults, which only the survey can fill.
  Job effective = options_.job.job;
  std::vector<Origin> origins;
  FillDefaults(DataSize(), &effective, &origins);
  TESSERA_ASSIGN_OR_RETURN(const std::string state, AbsoluteFolder("storage.directory", effective.storage().directory()));
  TESSERA_ASSIGN_OR_RETURN(const std::string checkpoints, AbsoluteFolder("checkpoint.directory", effective.checkpoint().directory()));
  // Servers of one machine may share the folder; the first one holds the whole of it, as an embedded run would.
  const std::string locked = options_.shard == 0 ? state : absl::StrCat(state, "/server-", options_.shard);
  const std::string owner = absl::StrCat("tessera-ps, shard ", options_.shard, " of job ", effective.name());
  TESSERA_ASSIGN_OR_RETURN(lock_, StateLock::Acquire(locked, owner));
  pool_ = std::make_unique<ThreadPool>(ThreadsFor(options_));
  ServerOptions server;
  server.job = effective.name();
  server.shard = options_.shard;
  server.shards = static_cast<uint32_t>(options_.servers.size());
  server.state_directory = state;
  server_ = std::make_unique<Server>(server, pool_.get());
  TESSERA_RETURN_IF_ERROR(server_->Recover());
  if (options_.shard != 0) return absl::OkStatus();

  CoordinatorOptions coordinator;
  coordinator.job = options_.job.job;
  coordinator.origins = options_.job.origins;
  coordinator.addresses = options_.servers;
  coordinator.servers = {server_.get()};
  for (uint32_t shard = 1; shard < options_.servers.size(); ++shard) {
    other_servers_.push_back(MakeParameterServerClient(shard, options_.servers[shard]));
    coordinator.servers.push_back(other_servers_.back().get());
  }
  coordinator.state_directory = state;
  coordinator.checkpoint_directory = checkpoints;
  coordinator_ = std::make_unique<Coordinator>(std::move(coordinator), Clock::Real());
  return coordinator_->Init();
}

absl::Status ServerDaemon::Start() {
  std::vector<std::shared_ptr<grpc::Service>> services = {MakeParameterServerService(server_.get())};
  if (coordinator_ != nullptr) services.push_back(MakeCoordinatorService(coordinator_.get()));
  TESSERA_ASSIGN_OR_RETURN(rpc_server_, RpcServer::Start(ListenAddress(), std::move(services)));
  LogInfo(absl::StrCat("job ", options_.job.job.name(), ": listening on ", ListenAddress(), ", known as ",
                       options_.servers[options_.shard]));
  return absl::OkStatus();
}

std::string ServerDaemon::ListenAddress() const {
  if (!options_.listen.empty()) return options_.listen;
  const std::string& own = options_.servers[options_.shard];
  if (IsLoopback(HostOf(own))) return own;
  return absl::StrCat("0.0.0.0", own.substr(own.rfind(':')));
}

void ServerDaemon::Watch() {
  if (coordinator_ == nullptr) return;
  Report report;
  if (!coordinator_->DescribeJob(DescribeJobRequest(), &report).ok()) return;
  if (report.refused_batches() > logged_refusals_) {
    logged_refusals_ = report.refused_batches();
    LogWarning(absl::StrCat("job ", report.job(), " has left out ", logged_refusals_, " batches of ", report.refused_rows(), " rows, the last: ",
                            report.refusal()));
  }
  const absl::string_view colon = report.message().empty() ? "" : ": ";
  const std::string now = absl::StrCat("job ", report.job(), " is ", report.state(), colon, report.message());
  if (now == logged_) return;
  logged_ = now;
  report.state() == "failed" ? LogError(now) : LogInfo(now);
}

absl::Status ServerDaemon::Shutdown() {
  absl::Status status;
  // 1. Bring the job to an end that it can go on from, while workers and servers can still be reached.
  if (coordinator_ != nullptr) status = InterruptJob();
  // 2. Take no more calls; those in progress end by themselves.
  if (rpc_server_ != nullptr) rpc_server_->Shutdown(kGrace);
  rpc_server_.reset();
  // 3. Leave nothing for the next start to replay. A failure costs only that: the log has everything.
  if (server_ != nullptr) {
    if (const absl::Status written = server_->WriteBackAll(); !written.ok()) LogError(absl::StrCat("not all was written back: ", written.message()));
  }
  // 4. The parts, users first. The lock is given back last.
  coordinator_.reset();
  other_servers_.clear();
  server_.reset();
  pool_.reset();
  lock_.reset();
  return status;
}

absl::Status ServerDaemon::InterruptJob() {
  TESSERA_RETURN_IF_ERROR(coordinator_->Interrupt("the server was stopped"));
  (void)coordinator_->WaitUntilOver(kInterruptMax);
  Watch();
  Report report;
  TESSERA_RETURN_IF_ERROR(coordinator_->DescribeJob(DescribeJobRequest(), &report));
  if (report.state() == "failed") return absl::UnknownError(report.message());
  // Over, if not everybody may have been told so.
  if (report.state() != "finished" && report.state() != "interrupted") {
    return absl::DeadlineExceededError(absl::StrCat("the job did not come to a checkpoint within ", absl::FormatDuration(kInterruptMax), "; the same lines resume it from the servers' logs"));
  }
  return absl::OkStatus();
}

}  // namespace tessera
