#include "worker/coordinator_client.h"

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_call.h"
#include "proto/coordinator.grpc.pb.h"

namespace tessera {
namespace {

using Stub = CoordinatorService::Stub;

class CoordinatorClient : public CoordinatorApi {
 public:
  explicit CoordinatorClient(const std::string& address)
      : peer_(absl::StrCat("coordinator at ", address)), channel_(MakeChannel(address)), stub_(CoordinatorService::NewStub(channel_)) {}

  absl::Status Join(const JoinRequest& request, JoinReply* reply) override {
    return UnaryCall(channel_.get(), stub_.get(), &Stub::Join, kCallMs, peer_, request, reply);
  }
  // Late is useless: the next one is due.
  absl::Status Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply) override {
    return UnaryCall(channel_.get(), stub_.get(), &Stub::Heartbeat, kHeartbeatMs, peer_, request, reply);
  }
  absl::Status Done(const DoneRequest& request, Instruction* reply) override {
    return UnaryCall(channel_.get(), stub_.get(), &Stub::Done, kCallMs, peer_, request, reply);
  }
  absl::Status Advance(const AdvanceRequest& request, AdvanceReply* reply) override {
    return UnaryCall(channel_.get(), stub_.get(), &Stub::Advance, kCallMs, peer_, request, reply);
  }
  absl::Status DescribeJob(const DescribeJobRequest& request, Report* reply) override {
    return UnaryCall(channel_.get(), stub_.get(), &Stub::DescribeJob, kCallMs, peer_, request, reply);
  }

 private:
  const std::string peer_;
  const std::shared_ptr<grpc::ChannelInterface> channel_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace

std::unique_ptr<CoordinatorApi> MakeCoordinatorClient(const std::string& address) { return std::make_unique<CoordinatorClient>(address); }

}  // namespace tessera
