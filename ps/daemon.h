// The parameter server daemon: everything of one server process, put together.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/job/job_file.h"
#include "common/parameter_server_api.h"
#include "common/rpc/rpc_server.h"
#include "common/thread_pool.h"
#include "ps/coordinator/coordinator.h"
#include "ps/server/server.h"
#include "ps/state_lock.h"

namespace tessera {

struct ServerDaemonOptions {
  JobFile job;
  uint32_t shard = 0;
  std::vector<std::string> servers;  // host:port of all servers, by shard, as workers and servers reach them
  std::string listen;                // host:port; empty: the port of servers[shard], on the loopback device or on all
  int threads = 0;                   // 0: the machine's cores, divided by the servers of the same host name
};

// INVALID_ARGUMENT where `servers`, `shard` or `listen` cannot be meant.
absl::Status CheckServers(const ServerDaemonOptions& options);

// Server `shard`; shard 0 also hosts the coordinator. REQUIRES: CheckServers has passed. Owned by one thread.
// Calls come in this order: Init, Start, any number of Watch, Shutdown; the destructor ends what was begun.
class ServerDaemon {
 public:
  explicit ServerDaemon(ServerDaemonOptions options);
  ~ServerDaemon();

  // Makes all parts. Takes the lock on the state folder: FAILED_PRECONDITION if another process has it.
  absl::Status Init();
  // Listens: "address in use: ..." at once where another process does.
  absl::Status Start();
  // Logs how the job goes, when that has changed. Only shard 0 knows.
  void Watch();
  // Ends cleanly, an unfinished job with a checkpoint to go on from. An error if the job failed, or did not come to a checkpoint in time.
  // Idempotent.
  absl::Status Shutdown();

 private:
  absl::Status InterruptJob();
  std::string ListenAddress() const;

  const ServerDaemonOptions options_;
  // In the order they are made; destroyed the other way round.
  std::optional<StateLock> lock_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<ParameterServerApi>> other_servers_;
  std::unique_ptr<Coordinator> coordinator_;  // shard 0 only
  std::unique_ptr<RpcServer> rpc_server_;
  std::string logged_;
  uint64_t logged_refusals_ = 0;
};

}  // namespace tessera
