// The coordinator as workers and tools see it: the service of proto/coordinator.proto without gRPC. Implemented by the coordinator itself
// (the embedded run calls it directly) and by the gRPC client.
#pragma once

#include "absl/status/status.h"
#include "proto/coordinator.pb.h"

namespace tessera {

// Thread-safe: calls may overlap. Done and Advance are long polls of at most kPollMs.
class CoordinatorApi {
 public:
  virtual ~CoordinatorApi() = default;
  virtual absl::Status Join(const JoinRequest& request, JoinReply* reply) = 0;
  virtual absl::Status Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply) = 0;
  virtual absl::Status Done(const DoneRequest& request, Instruction* reply) = 0;
  virtual absl::Status Advance(const AdvanceRequest& request, AdvanceReply* reply) = 0;
  virtual absl::Status DescribeJob(const DescribeJobRequest& request, Report* reply) = 0;
};

}  // namespace tessera
