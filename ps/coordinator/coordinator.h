// The coordinator: membership, the step clock, data tasks, evaluation, early stopping, checkpoints. Lives in server 0, or in the one
// process of an embedded run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/coordinator_api.h"
#include "common/parameter_server_api.h"
#include "proto/job.pb.h"
#include "proto/plan.pb.h"

namespace tessera {

struct CoordinatorOptions {
  Job job;                       // as read: defaults not filled in, except name; paths absolute
  std::vector<Origin> origins;
  std::vector<std::string> addresses;         // of the servers, by shard, as workers reach them
  std::vector<ParameterServerApi*> servers;   // by shard; outlive the coordinator
  std::string state_directory;                // absolute; its lock is held by the caller
  std::string checkpoint_directory;           // absolute
  std::optional<uint64_t> generation_gap = std::nullopt;  // random unless given: see Members
};

// Thread-safe. Every wait has a deadline: workers that never come, a worker whose lease ends, a server that does not answer end the job
// with an error that names the peer.
class Coordinator : public CoordinatorApi {
 public:
  Coordinator(CoordinatorOptions options, Clock* clock);
  ~Coordinator() override;

  // Reads CURRENT and the newest complete checkpoint, if any, and starts the thread that leads the job; patience counts from here. Must be
  // called once, before the first Join. No call may be inside when the coordinator is destroyed.
  absl::Status Init();

  absl::Status Join(const JoinRequest& request, JoinReply* reply) override;
  absl::Status Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply) override;
  absl::Status Done(const DoneRequest& request, Instruction* reply) override;
  absl::Status Advance(const AdvanceRequest& request, AdvanceReply* reply) override;
  absl::Status DescribeJob(const DescribeJobRequest& request, Report* reply) override;

  // A clean end before the job's: saves a checkpoint at the next decision, then tells everybody to stop (CANCELLED, "REASON at step 120;
  // the same command resumes"). Returns at once; the first reason ("interrupted", "the server was stopped") stays.
  absl::Status Interrupt(const std::string& reason);
  // Until the job is over, well or not, and every live worker was told so (at most a lease is waited for that), or `timeout` has passed
  // (false).
  bool WaitUntilOver(absl::Duration timeout);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera
