#include "ps/server/server.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/packed.h"
#include "common/status_macros.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/server/gate.h"
#include "ps/server/gradients.h"
#include "ps/server/ledger.h"
#include "ps/server/peer_check.h"
#include "ps/server/shard_state.h"
#include "ps/server/sync_steps.h"

namespace tessera {
namespace {

// Half a call's deadline, so that the caller hears what the server is busy with.
constexpr absl::Duration kGatePatience = absl::Milliseconds(kCallMs / 2);

}  // namespace

// Every call is let in by the gate: reads, stages and pushes together, whatever changes the version of the whole server (Open, a commit,
// a save) alone. What runs inside the gate ends in "Here".
class Server::Impl {
 public:
  Impl(ServerOptions options, ThreadPool* pool) : options_(std::move(options)), pool_(pool), gate_(kGatePatience) {
    own_.set_job(options_.job);
    own_.set_shard(options_.shard);
    own_.set_shards(options_.shards);
  }

  absl::Status Open(const OpenRequest& request, OpenReply* reply) {
    if (!gate_.EnterExclusive("opening")) return gate_.Busy();
    const ExclusivePass inside(&gate_);
    return OpenHere(request, reply);
  }
  // A call of step t finds the server at t-1, or one step behind: then d(t-1) is committed and the call comes again.
  absl::Status Pull(const PullRequest& request, PullReply* reply) {
    for (;;) {
      bool commit_first = false;
      if (const absl::Status status = PullOnce(request, reply, &commit_first); !commit_first) return status;
      TESSERA_RETURN_IF_ERROR(Commit(request.peer(), request.decision(), nullptr));
    }
  }
  absl::Status Stage(const StageRequest& request) {
    for (;;) {
      bool commit_first = false;
      if (const absl::Status status = StageOnce(request, &commit_first); !commit_first) return status;
      TESSERA_RETURN_IF_ERROR(Commit(request.peer(), request.decision(), nullptr));
    }
  }
  absl::Status Commit(const Peer& peer, const Decision& decision, CommitReply* reply) {
    if (!gate_.EnterExclusive("a commit")) return gate_.Busy();
    const ExclusivePass inside(&gate_);
    const absl::Status status = CommitHere(peer, decision);
    if (reply != nullptr) reply->set_step(StepHere());
    return status;
  }
  absl::Status Save(const SaveRequest& request, SaveReply* reply) {
    if (!gate_.EnterExclusive("a save")) return gate_.Busy();
    const ExclusivePass inside(&gate_);
    return SaveHere(request, reply);
  }
  absl::Status Push(const PushRequest& request, PushReply* reply) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return PushHere(request, reply);
  }
  absl::Status Describe(const DescribeServerRequest& request, DescribeServerReply* reply) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return DescribeHere(request, reply);
  }

 private:
  absl::Status PullOnce(const PullRequest& request, PullReply* reply, bool* commit_first) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return PullHere(request, reply, commit_first);
  }
  absl::Status StageOnce(const StageRequest& request, bool* commit_first) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return StageHere(request, commit_first);
  }
  absl::Status CheckOpen(const Peer& peer) const ABSL_SHARED_LOCKS_REQUIRED(gate_);
  uint64_t StepHere() const { return std::max(steps_.step(), pushed_step_.load()); }
  absl::Status OpenHere(const OpenRequest& request, OpenReply* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status CommitHere(const Peer& peer, const Decision& decision) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status SaveHere(const SaveRequest& request, SaveReply* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status PullHere(const PullRequest& request, PullReply* reply, bool* commit_first) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status StageHere(const StageRequest& request, bool* commit_first) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status PushHere(const PushRequest& request, PushReply* reply) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status DescribeHere(const DescribeServerRequest& request, DescribeServerReply* reply) ABSL_SHARED_LOCKS_REQUIRED(gate_);

  const ServerOptions options_;
  ThreadPool* const pool_;
  Gate gate_;
  Peer own_ ABSL_GUARDED_BY(gate_);
  OpenRequest opened_ ABSL_GUARDED_BY(gate_);
  std::unique_ptr<ShardState> state_ ABSL_GUARDED_BY(gate_);  // null: closed
  SyncSteps steps_;
  PushLedger ledger_;
  std::atomic<uint64_t> pushed_step_{0};  // async: the highest optimizer step applied
  std::atomic<uint64_t> pulls_{0};
  std::atomic<uint64_t> pushes_{0};
};

absl::Status Server::Impl::CheckOpen(const Peer& peer) const {
  if (state_ != nullptr) return CheckPeer(peer, own_);
  TESSERA_RETURN_IF_ERROR(CheckShard(peer, own_));
  return absl::DataLossError(absl::StrCat("state lost: shard ", own_.shard(), " of ", own_.shards(), " of job ", own_.job(),
                                          " holds nothing: it was restarted, or has not been opened yet"));
}

absl::Status Server::Impl::OpenHere(const OpenRequest& request, OpenReply* reply) {
  TESSERA_RETURN_IF_ERROR(CheckShard(request.peer(), own_));
  const uint64_t incarnation = request.peer().incarnation();
  if (state_ != nullptr && incarnation <= own_.incarnation()) {
    // A repeat of the call that opened it, its answer lost, must not throw away what has been trained since.
    const bool repeat = incarnation == own_.incarnation() && request.SerializeAsString() == opened_.SerializeAsString();
    if (!repeat || pushes_ > 0) {
      return absl::FailedPreconditionError(absl::StrCat("wrong peer: this server is open in incarnation ", own_.incarnation(), " at step ",
                                                        StepHere(), "; it opens again only in a later one, not in ", incarnation));
    }
  } else {
    state_.reset();
    const std::string& directory = options_.state_directory;
    const std::string folder = directory.empty() ? "" : absl::StrCat(directory, "/", ShardFolder(own_.shard(), own_.shards()));
    TESSERA_ASSIGN_OR_RETURN(state_, ShardState::Make(request, folder, pool_));
    opened_ = request;
    own_.set_incarnation(incarnation);
    own_.set_map_version(request.peer().map_version());
    steps_.Reset(state_->restored_step());
    ledger_.Clear();
    pushed_step_ = 0;
    pulls_ = 0;
    pushes_ = 0;
  }
  reply->set_step(StepHere());
  reply->set_rows(state_->CountRows());
  return absl::OkStatus();
}

absl::Status Server::Impl::PullHere(const PullRequest& request, PullReply* reply, bool* commit_first) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  if (request.step() > 0) {
    TESSERA_ASSIGN_OR_RETURN(const SyncSteps::Standing standing, steps_.StandingOf(request.step(), request.decision()));
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
  reply->set_step(StepHere());
  const absl::Span<float> values = PackedResize<float>(reply->mutable_values(), ids.size() * shape.dim);
  TESSERA_RETURN_IF_ERROR(
      state_->rows().Read(grouped, ids, request.evaluation() ? UnknownRow::kZeros : UnknownRow::kInitial, values.data()));
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
  TESSERA_ASSIGN_OR_RETURN(const SyncSteps::Standing standing, steps_.StandingOf(request.step(), request.decision()));
  *commit_first = standing == SyncSteps::Standing::kCommitFirst;
  if (*commit_first) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const bool staged, steps_.IsStaged(request));
  if (staged) return absl::OkStatus();
  absl::StatusOr<CheckedGradients> checked = CheckStage(request, state_->shape(), sender, pool_);
  if (!checked.ok()) {
    steps_.Drop(request);
    return checked.status();
  }
  StagedPart part;
  part.request = std::make_unique<StageRequest>(request);
  part.gradients = *std::move(checked);
  part.gradients.ViewOf(part.request->gradients());
  TESSERA_RETURN_IF_ERROR(steps_.Add(std::move(part)));
  pushes_.fetch_add(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

absl::Status Server::Impl::CommitHere(const Peer& peer, const Decision& decision) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(peer));
  TESSERA_ASSIGN_OR_RETURN(const SyncSteps::Standing standing, steps_.StandingOfCommit(decision));
  if (standing == SyncSteps::Standing::kHere) return absl::OkStatus();
  TESSERA_ASSIGN_OR_RETURN(const std::vector<const StagedPart*> parts, steps_.WinnersOf(decision));
  if (!parts.empty()) {
    std::vector<const CheckedGradients*> sources;
    for (const StagedPart* part : parts) sources.push_back(&part->gradients);
    UpdateRule rule;
    rule.divisor = decision.rows();
    rule.optimizer_step = decision.optimizer_step();
    rule.step = decision.step();
    TESSERA_RETURN_IF_ERROR(state_->Apply(sources, decision.sparse_learning_rate(), decision.dense_learning_rate(), rule));
  }
  steps_.Applied(decision);
  return absl::OkStatus();
}

absl::Status Server::Impl::PushHere(const PushRequest& request, PushReply* reply) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  const std::string sender =
      absl::StrCat("push ", request.sequence(), " of worker ", request.peer().worker(), " generation ", request.peer().generation());
  TESSERA_RETURN_IF_ERROR(CheckPush(request, sender));
  TESSERA_ASSIGN_OR_RETURN(const CheckedGradients checked,
                           CheckGradients(request.gradients(), state_->shape(), DensePart::kEither, sender, pool_));
  TESSERA_ASSIGN_OR_RETURN(const PushLedger::Verdict verdict, ledger_.Begin(request.peer(), request.sequence()));
  if (verdict == PushLedger::Verdict::kApply) {
    UpdateRule rule;
    rule.divisor = request.divisor();
    rule.optimizer_step = request.optimizer_step();
    rule.step = request.optimizer_step();
    const CheckedGradients* const source = &checked;
    const absl::Status status = state_->Apply({&source, 1}, request.sparse_learning_rate(), request.dense_learning_rate(), rule);
    ledger_.Finish(request.peer(), request.sequence());
    TESSERA_RETURN_IF_ERROR(status);
    uint64_t highest = pushed_step_.load();
    while (highest < request.optimizer_step() && !pushed_step_.compare_exchange_weak(highest, request.optimizer_step())) {
    }
    pushes_.fetch_add(1, std::memory_order_relaxed);
  }
  reply->set_step(StepHere());
  return absl::OkStatus();
}

absl::Status Server::Impl::SaveHere(const SaveRequest& request, SaveReply* reply) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  // What is in the folder is removed, so it must be one that holds nothing else.
  if (!IsUnfinishedShard(request.directory(), own_.shard(), own_.shards())) {
    return absl::InvalidArgumentError(absl::StrCat("save: the directory must be the absolute path of ",
                                                   ShardFolder(own_.shard(), own_.shards()), " in an unfinished checkpoint, is '",
                                                   request.directory(), "'"));
  }
  const uint64_t step = StepHere();
  TESSERA_ASSIGN_OR_RETURN(std::vector<SavedFile> files, state_->Save(request.directory(), step));
  reply->set_step(step);
  reply->set_rows(state_->CountRows());
  reply->set_content_digest(state_->ContentDigest());
  for (SavedFile& file : files) *reply->add_files() = std::move(file);
  return absl::OkStatus();
}

absl::Status Server::Impl::DescribeHere(const DescribeServerRequest& request, DescribeServerReply* reply) {
  // Whoever asks wants to learn the incarnation, so it need not know it.
  if (!request.peer().job().empty()) TESSERA_RETURN_IF_ERROR(CheckShard(request.peer(), own_));
  reply->set_job(own_.job());
  reply->set_incarnation(own_.incarnation());
  reply->set_shard(own_.shard());
  reply->set_shards(own_.shards());
  reply->set_step(StepHere());
  reply->set_pulls(pulls_);
  reply->set_pushes(pushes_);
  if (state_ == nullptr) return absl::OkStatus();
  reply->set_rows(state_->CountRows());
  reply->set_bytes(state_->rows().MemoryBytes());
  return absl::OkStatus();
}

Server::Server(ServerOptions options, ThreadPool* pool) : impl_(std::make_unique<Impl>(std::move(options), pool)) {}
Server::~Server() = default;

absl::Status Server::Open(const OpenRequest& request, OpenReply* reply) { return impl_->Open(request, reply); }
absl::Status Server::Pull(const PullRequest& request, PullReply* reply) { return impl_->Pull(request, reply); }
absl::Status Server::Stage(const StageRequest& request, StageReply*) { return impl_->Stage(request); }
absl::Status Server::Push(const PushRequest& request, PushReply* reply) { return impl_->Push(request, reply); }
absl::Status Server::Commit(const CommitRequest& request, CommitReply* reply) {
  return impl_->Commit(request.peer(), request.decision(), reply);
}
absl::Status Server::Save(const SaveRequest& request, SaveReply* reply) { return impl_->Save(request, reply); }
absl::Status Server::DescribeServer(const DescribeServerRequest& request, DescribeServerReply* reply) {
  return impl_->Describe(request, reply);
}

}  // namespace tessera
