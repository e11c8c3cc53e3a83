#include "ps/coordinator_service.h"

#include "common/rpc/status_mapping.h"
#include "proto/coordinator.grpc.pb.h"

namespace tessera {
namespace {

class WireCoordinator final : public CoordinatorService::Service {
 public:
  explicit WireCoordinator(CoordinatorApi* coordinator) : coordinator_(coordinator) {}

  grpc::Status Join(grpc::ServerContext*, const JoinRequest* request, JoinReply* reply) override {
    return ToGrpc(coordinator_->Join(*request, reply));
  }
  grpc::Status Heartbeat(grpc::ServerContext*, const HeartbeatRequest* request, HeartbeatReply* reply) override {
    return ToGrpc(coordinator_->Heartbeat(*request, reply));
  }
  grpc::Status Done(grpc::ServerContext*, const DoneRequest* request, Instruction* reply) override {
    return ToGrpc(coordinator_->Done(*request, reply));
  }
  grpc::Status Advance(grpc::ServerContext*, const AdvanceRequest* request, AdvanceReply* reply) override {
    return ToGrpc(coordinator_->Advance(*request, reply));
  }
  grpc::Status DescribeJob(grpc::ServerContext*, const DescribeJobRequest* request, Report* reply) override {
    return ToGrpc(coordinator_->DescribeJob(*request, reply));
  }

 private:
  CoordinatorApi* const coordinator_;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeCoordinatorService(CoordinatorApi* coordinator) {
  return std::make_shared<WireCoordinator>(coordinator);
}

}  // namespace tessera
