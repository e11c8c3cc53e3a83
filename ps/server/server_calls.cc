// The calls of training: pull, stage, commit, push, hint.
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/fault_point.h"
#include "common/packed.h"
#include "ps/server/gradients.h"
#include "ps/server/peer_check.h"
#include "ps/server/server_impl.h"

namespace tessera {
namespace {

void PackBits(const std::vector<uint8_t>& bits, std::string* bytes) {
  bytes->assign((bits.size() + 7) / 8, '\0');
  for (size_t i = 0; i < bits.size(); ++i) (*bytes)[i / 8] = static_cast<char>((*bytes)[i / 8] | (bits[i] << (i % 8)));
}

}  // namespace

absl::Status Server::Impl::CheckOpen(const Peer& peer) const {
  if (state_ != nullptr) {
    TESSERA_RETURN_IF_ERROR(CheckPeer(peer, own_));
    return state_->health();
  }
  TESSERA_RETURN_IF_ERROR(CheckShard(peer, own_));
  return absl::DataLossError(absl::StrCat("state lost: shard ", own_.shard(), " of ", own_.shards(), " of job ", own_.job(),
                                          " holds nothing: it was restarted, or has not been opened yet"));
}

absl::Status Server::Impl::PullHere(const PullRequest& request, PullReply* reply, bool* commit_first) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  if (request.evaluation()) FaultPoint("pull.evaluation");
  if (request.step() > 0) {
    TESSERA_ASSIGN_OR_RETURN(const SyncSteps::Standing standing, state_->steps().StandingOf(request.step(), request.decision()));
    *commit_first = standing == SyncSteps::Standing::kCommitFirst;
    if (*commit_first) return absl::OkStatus();
  } else if (request.has_decision()) {
    return absl::InvalidArgumentError("pull: a decision is carried by calls of a step; step is 0");
  }
  TESSERA_ASSIGN_OR_RETURN(const absl::Span<const uint64_t> ids, PackedView<uint64_t>(request.ids(), "pull.ids"));
  const GradientShape& shape = state_->shape();
  if (ids.size() * shape.dim > kMessageBytesMax / sizeof(float)) {
    return absl::ResourceExhaustedError(absl::StrCat("pull: the values of ", ids.size(), " ids would not fit one message of ",
                                                     kMessageBytesMax >> 20, " MiB (kMessageBytesMax); ask for fewer at a time"));
  }
  TESSERA_ASSIGN_OR_RETURN(const PartitionedIds grouped, CheckIds(ids, shape, "pull"));
  reply->set_step(state_->step());
  reply->set_updates(state_->updates());
  const absl::Span<float> values = PackedResize<float>(reply->mutable_values(), ids.size() * shape.dim);
  const UnknownRow unknown = request.evaluation() ? UnknownRow::kZeros : UnknownRow::kInitial;
  std::vector<uint8_t> absent;
  TESSERA_RETURN_IF_ERROR(state_->rows().Read(grouped, ids, unknown, values.data(), state_->admits() ? &absent : nullptr));
  PackBits(absent, reply->mutable_absent());
  reply->set_spilled(!request.evaluation() && state_->rows().spilled());
  if (request.dense() && !shape.dense_slices.empty()) {
    const uint32_t slice = request.dense_slice();
    const size_t slices = shape.dense_slices.size();
    if (slice >= slices) return absl::InvalidArgumentError(absl::StrCat("pull: dense slice ", slice, " of ", slices));
    state_->dense().Read(slice, PackedResize<float>(reply->mutable_dense(), shape.dense_slices[slice]).data());
  }
  if (!request.evaluation()) pulls_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status Server::Impl::StageHere(const StageRequest& request, bool* commit_first) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  const std::string sender = NameOf(request);
  TESSERA_RETURN_IF_ERROR(CheckWorker(request.peer(), sender));
  TESSERA_RETURN_IF_ERROR(CheckShare(request, sender));
  TESSERA_ASSIGN_OR_RETURN(const SyncSteps::Standing standing, state_->steps().StandingOf(request.step(), request.decision()));
  *commit_first = standing == SyncSteps::Standing::kCommitFirst;
  if (*commit_first) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const StagedPart* const staged, state_->steps().FindStaged(request));
  CheckedGradients gradients;
  if (staged == nullptr) {
    absl::StatusOr<CheckedGradients> checked = CheckStage(request, state_->shape(), sender, pool_);
    if (!checked.ok()) {
      refused_gradients_.fetch_add(1, std::memory_order_relaxed);
      TESSERA_RETURN_IF_ERROR(state_->DropStage(request));
      return checked.status();
    }
    gradients = *std::move(checked);
  }
  TESSERA_ASSIGN_OR_RETURN(const bool kept, state_->Stage(request, std::move(gradients)));
  if (kept) pushes_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status Server::Impl::CommitHere(const Peer& peer, const Decision& decision, bool wait_durable) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(peer));
  TESSERA_ASSIGN_OR_RETURN(const SyncSteps::Standing standing, state_->steps().StandingOfCommit(decision));
  return standing == SyncSteps::Standing::kHere ? absl::OkStatus() : state_->Commit(decision, wait_durable);
}

absl::Status Server::Impl::PushHere(const PushRequest& request, PushReply* reply) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  const std::string sender = NameOf(request);
  TESSERA_RETURN_IF_ERROR(CheckPush(request, sender));
  const absl::StatusOr<CheckedGradients> checked = CheckGradients(request.gradients(), state_->shape(), DensePart::kEither, sender, pool_);
  if (!checked.ok()) {
    refused_gradients_.fetch_add(1, std::memory_order_relaxed);
    return checked.status();
  }
  TESSERA_ASSIGN_OR_RETURN(const ShardState::Pushed pushed, state_->Push(request, *checked));
  if (!pushed.repeat) pushes_.fetch_add(1, std::memory_order_relaxed);
  reply->set_step(state_->step());
  reply->set_staleness(pushed.staleness);
  return absl::OkStatus();
}

absl::Status Server::Impl::FenceHere(const FenceRequest& request, FenceReply* reply) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  TESSERA_RETURN_IF_ERROR(CheckWorker(request.peer(), "fence"));
  TESSERA_ASSIGN_OR_RETURN(*reply, state_->Fence(request.peer()));
  return absl::OkStatus();
}

absl::Status Server::Impl::AheadHere(const AheadRequest& request) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  TESSERA_ASSIGN_OR_RETURN(const absl::Span<const uint64_t> ids, PackedView<uint64_t>(request.ids(), "ahead.ids"));
  TESSERA_RETURN_IF_ERROR(CheckIds(ids, state_->shape(), "ahead").status());
  state_->Warm(ids);
  return absl::OkStatus();
}

}  // namespace tessera
