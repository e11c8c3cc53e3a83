// A table as its servers hold it: running ones, or those of this process that opened a folder.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/parameter_server_api.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

// Owned by one thread. The servers outlive it.
class ServedTable {
 public:
  // One API per shard, in shard order. Asks each what it holds; FAILED_PRECONDITION where they are not all servers of one job, in order.
  // `verify`: each reads all its files first; DATA_LOSS names the one that is damaged.
  static absl::StatusOr<ServedTable> Open(std::vector<ParameterServerApi*> servers, bool verify = false);

  const std::vector<DescribeServerReply>& servers() const { return replies_; }
  // Sums over all servers: counts and bytes, and the rate of writing back.
  TableStatus Total() const;

  struct Row {
    StoredRow row;  // found: whether there is one
    uint32_t server = 0;
  };
  absl::StatusOr<Row> Get(uint64_t id) const;
  // Removes what the rule says, or only names it, partition by partition; an empty rule is the job's. Ids ascend within a partition.
  absl::StatusOr<std::vector<uint64_t>> Evict(const Eviction& rule, bool dry_run) const;

 private:
  explicit ServedTable(std::vector<ParameterServerApi*> servers) : servers_(std::move(servers)) {}
  Peer PeerOf(uint32_t shard) const;

  const std::vector<ParameterServerApi*> servers_;
  std::vector<DescribeServerReply> replies_;
};

}  // namespace tessera
