#include "common/rpc/parameter_server_client.h"

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/rpc/channel.h"
#include "common/rpc/unary_call.h"
#include "proto/parameter_server.grpc.pb.h"

namespace tessera {
namespace {

using Stub = ParameterServerService::Stub;

class ParameterServerClient : public ParameterServerApi {
 public:
  ParameterServerClient(uint32_t shard, const std::string& address)
      : peer_(absl::StrCat("server ", shard, " at ", address)),
        channel_(MakeChannel(address)),
        stub_(ParameterServerService::NewStub(channel_)) {}

  // Loading and saving a shard may take long.
  absl::Status Open(const OpenRequest& request, OpenReply* reply) override { return Call(&Stub::Open, kSaveMs, request, reply); }
  absl::Status Save(const SaveRequest& request, SaveReply* reply) override { return Call(&Stub::Save, kSaveMs, request, reply); }
  absl::Status Pull(const PullRequest& request, PullReply* reply) override { return Call(&Stub::Pull, kCallMs, request, reply); }
  absl::Status Stage(const StageRequest& request, StageReply* reply) override { return Call(&Stub::Stage, kCallMs, request, reply); }
  absl::Status Push(const PushRequest& request, PushReply* reply) override { return Call(&Stub::Push, kCallMs, request, reply); }
  absl::Status Commit(const CommitRequest& request, CommitReply* reply) override { return Call(&Stub::Commit, kCallMs, request, reply); }
  absl::Status DescribeServer(const DescribeServerRequest& request, DescribeServerReply* reply) override {
    return Call(&Stub::DescribeServer, kCallMs, request, reply);
  }
  absl::Status Fence(const FenceRequest& request, FenceReply* reply) override { return Call(&Stub::Fence, kCallMs, request, reply); }
  absl::Status Ahead(const AheadRequest& request, AheadReply* reply) override { return Call(&Stub::Ahead, kHintMs, request, reply); }
  absl::Status GetRows(const GetRowsRequest& request, GetRowsReply* reply) override { return Call(&Stub::GetRows, kCallMs, request, reply); }
  absl::Status Evict(const EvictRequest& request, EvictReply* reply) override { return Call(&Stub::Evict, kCallMs, request, reply); }

 private:
  template <class Request, class Reply>
  absl::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*), int64_t deadline_ms, const Request& request,
                    Reply* reply) {
    return UnaryCall(channel_.get(), stub_.get(), method, deadline_ms, peer_, request, reply);
  }

  const std::string peer_;
  const std::shared_ptr<grpc::ChannelInterface> channel_;
  const std::unique_ptr<Stub> stub_;
};

}  // namespace

std::unique_ptr<ParameterServerApi> MakeParameterServerClient(uint32_t shard, const std::string& address) {
  return std::make_unique<ParameterServerClient>(shard, address);
}

}  // namespace tessera
