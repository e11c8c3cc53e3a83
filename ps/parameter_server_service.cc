#include "ps/parameter_server_service.h"

#include "common/rpc/status_mapping.h"
#include "proto/parameter_server.grpc.pb.h"

namespace tessera {
namespace {

class WireParameterServer final : public ParameterServerService::Service {
 public:
  explicit WireParameterServer(ParameterServerApi* server) : server_(server) {}

  grpc::Status Open(grpc::ServerContext*, const OpenRequest* request, OpenReply* reply) override {
    return ToGrpc(server_->Open(*request, reply));
  }
  grpc::Status Pull(grpc::ServerContext*, const PullRequest* request, PullReply* reply) override {
    return ToGrpc(server_->Pull(*request, reply));
  }
  grpc::Status Stage(grpc::ServerContext*, const StageRequest* request, StageReply* reply) override {
    return ToGrpc(server_->Stage(*request, reply));
  }
  grpc::Status Push(grpc::ServerContext*, const PushRequest* request, PushReply* reply) override {
    return ToGrpc(server_->Push(*request, reply));
  }
  grpc::Status Fence(grpc::ServerContext*, const FenceRequest* request, FenceReply* reply) override {
    return ToGrpc(server_->Fence(*request, reply));
  }
  grpc::Status Commit(grpc::ServerContext*, const CommitRequest* request, CommitReply* reply) override {
    return ToGrpc(server_->Commit(*request, reply));
  }
  grpc::Status Save(grpc::ServerContext*, const SaveRequest* request, SaveReply* reply) override {
    return ToGrpc(server_->Save(*request, reply));
  }
  grpc::Status DescribeServer(grpc::ServerContext*, const DescribeServerRequest* request, DescribeServerReply* reply) override {
    return ToGrpc(server_->DescribeServer(*request, reply));
  }
  grpc::Status Ahead(grpc::ServerContext*, const AheadRequest* request, AheadReply* reply) override {
    return ToGrpc(server_->Ahead(*request, reply));
  }
  grpc::Status GetRows(grpc::ServerContext*, const GetRowsRequest* request, GetRowsReply* reply) override {
    return ToGrpc(server_->GetRows(*request, reply));
  }
  grpc::Status Evict(grpc::ServerContext*, const EvictRequest* request, EvictReply* reply) override {
    return ToGrpc(server_->Evict(*request, reply));
  }

 private:
  ParameterServerApi* const server_;
};

}  // namespace

std::shared_ptr<grpc::Service> MakeParameterServerService(ParameterServerApi* server) {
  return std::make_shared<WireParameterServer>(server);
}

}  // namespace tessera
