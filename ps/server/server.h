// One parameter server: its shard of the table and of the dense variables, and the steps applied to them.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/parameter_server_api.h"
#include "common/thread_pool.h"

namespace tessera {

struct ServerOptions {
  std::string job;              // empty: whichever job's state Recover finds
  uint32_t shard = 0;
  uint32_t shards = 1;
  std::string state_directory;  // this shard's RocksDB lives in a folder of its own below
};

// Thread-safe. State machine: closed until Open or Recover; Open again (a new incarnation) drops everything and loads anew.
class Server : public ParameterServerApi {
 public:
  // `pool` may be shared with a worker of the same process; it outlives the server.
  Server(ServerOptions options, ThreadPool* pool);
  ~Server() override;

  absl::Status Open(const OpenRequest& request, OpenReply* reply) override;
  absl::Status Pull(const PullRequest& request, PullReply* reply) override;
  absl::Status Stage(const StageRequest& request, StageReply* reply) override;
  absl::Status Push(const PushRequest& request, PushReply* reply) override;
  absl::Status Commit(const CommitRequest& request, CommitReply* reply) override;
  absl::Status Save(const SaveRequest& request, SaveReply* reply) override;
  absl::Status DescribeServer(const DescribeServerRequest& request, DescribeServerReply* reply) override;
  absl::Status Ahead(const AheadRequest& request, AheadReply* reply) override;
  absl::Status GetRows(const GetRowsRequest& request, GetRowsReply* reply) override;
  absl::Status Fence(const FenceRequest& request, FenceReply* reply) override;
  absl::Status Evict(const EvictRequest& request, EvictReply* reply) override;

  // Goes on where the last process on this state folder ended, if it kept a log; else the server stays closed. Before the first call.
  // DATA_LOSS: what is there is damaged or incomplete, and where.
  // FAILED_PRECONDITION: it is another job's.
  absl::Status Recover();
  bool is_open() const;
  // Before a stop: leaves nothing for the next start to replay.
  absl::Status WriteBackAll();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
