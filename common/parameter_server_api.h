// The parameter server as its callers see it: the service of proto/parameter_server.proto without gRPC. Implemented by the server itself
// (the embedded run calls it directly) and by the gRPC client, so both run the same code above and below.
#pragma once

#include "absl/status/status.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

// Thread-safe: calls may overlap. Errors are those of parameter_server.proto; UNAVAILABLE and DEADLINE_EXCEEDED name the address.
// No call waits for another worker.
class ParameterServerApi {
 public:
  virtual ~ParameterServerApi() = default;
  virtual absl::Status Open(const OpenRequest& request, OpenReply* reply) = 0;
  virtual absl::Status Pull(const PullRequest& request, PullReply* reply) = 0;
  virtual absl::Status Stage(const StageRequest& request, StageReply* reply) = 0;
  virtual absl::Status Push(const PushRequest& request, PushReply* reply) = 0;
  virtual absl::Status Fence(const FenceRequest& request, FenceReply* reply) = 0;
  virtual absl::Status Commit(const CommitRequest& request, CommitReply* reply) = 0;
  virtual absl::Status Save(const SaveRequest& request, SaveReply* reply) = 0;
  virtual absl::Status DescribeServer(const DescribeServerRequest& request, DescribeServerReply* reply) = 0;

  // Not needed for training: a server without them says UNIMPLEMENTED.
  virtual absl::Status Ahead(const AheadRequest&, AheadReply*) { return absl::UnimplementedError("this server takes no hints"); }
  virtual absl::Status GetRows(const GetRowsRequest&, GetRowsReply*) { return absl::UnimplementedError("this server shows no rows"); }
  virtual absl::Status Evict(const EvictRequest&, EvictReply*) { return absl::UnimplementedError("this server evicts nothing"); }
};

}  // namespace tessera
