#include "ps/server/server.h"

#include "ps/server/server_impl.h"

namespace tessera {

Server::Server(ServerOptions options, ThreadPool* pool) : impl_(std::make_unique<Impl>(std::move(options), pool)) {}
Server::~Server() = default;

absl::Status Server::Open(const OpenRequest& request, OpenReply* reply) { return impl_->Open(request, reply); }
absl::Status Server::Pull(const PullRequest& request, PullReply* reply) { return impl_->Pull(request, reply); }
absl::Status Server::Stage(const StageRequest& request, StageReply*) { return impl_->Stage(request); }
absl::Status Server::Push(const PushRequest& request, PushReply* reply) { return impl_->Push(request, reply); }
absl::Status Server::Fence(const FenceRequest& request, FenceReply* reply) { return impl_->Fence(request, reply); }
absl::Status Server::Commit(const CommitRequest& request, CommitReply* reply) {
  return impl_->Commit(request.peer(), request.decision(), reply);
}
absl::Status Server::Save(const SaveRequest& request, SaveReply* reply) { return impl_->Save(request, reply); }
absl::Status Server::DescribeServer(const DescribeServerRequest& request, DescribeServerReply* reply) {
  return impl_->Describe(request, reply);
}
absl::Status Server::Ahead(const AheadRequest& request, AheadReply*) { return impl_->Ahead(request); }
absl::Status Server::GetRows(const GetRowsRequest& request, GetRowsReply* reply) { return impl_->GetRows(request, reply); }
absl::Status Server::Evict(const EvictRequest& request, EvictReply* reply) { return impl_->Evict(request, reply); }
bool Server::is_open() const { return impl_->IsOpen(); }
absl::Status Server::Recover() { return impl_->Recover(); }
absl::Status Server::WriteBackAll() { return impl_->WriteBackAll(); }

}  // namespace tessera
