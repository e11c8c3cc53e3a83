#include "ps/coordinator/coordinator.h"

#include <utility>

#include "ps/coordinator/coordinator_impl.h"

namespace tessera {

Coordinator::Coordinator(CoordinatorOptions options, Clock* clock) : impl_(std::make_unique<Impl>(std::move(options), clock)) {}
Coordinator::~Coordinator() = default;

absl::Status Coordinator::Init() { return impl_->Init(); }
absl::Status Coordinator::Join(const JoinRequest& request, JoinReply* reply) { return impl_->Join(request, reply); }
absl::Status Coordinator::Heartbeat(const HeartbeatRequest& request, HeartbeatReply* reply) { return impl_->Heartbeat(request, reply); }
absl::Status Coordinator::Done(const DoneRequest& request, Instruction* reply) { return impl_->Done(request, reply); }
absl::Status Coordinator::Advance(const AdvanceRequest& request, AdvanceReply* reply) { return impl_->Advance(request, reply); }
absl::Status Coordinator::DescribeJob(const DescribeJobRequest& request, Report* reply) { return impl_->DescribeJob(request, reply); }
absl::Status Coordinator::Interrupt(const std::string& reason) { return impl_->Interrupt(reason); }
bool Coordinator::WaitUntilOver(absl::Duration timeout) { return impl_->WaitUntilOver(timeout); }

}  // namespace tessera
