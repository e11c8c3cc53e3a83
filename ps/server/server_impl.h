// The inside of a server; only server*.cc include it.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "ps/server/gate.h"
#include "ps/server/server.h"
#include "ps/server/shard_state.h"

namespace tessera {

// Every call is let in by the gate: reads, stages and pushes together, whatever changes the version of the whole server (Open, a commit,
// a save) alone. What runs inside the gate ends in "Here".
class Server::Impl {
 public:
  // The gate waits half a call's deadline, so that the caller hears what the server is busy with.
  Impl(ServerOptions options, ThreadPool* pool) : options_(std::move(options)), pool_(pool), gate_(absl::Milliseconds(kCallMs / 2)) {
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
    // The last step before an evaluation, a cut or the end has no next pull to carry it: its record must be as durable as a stage.
    const absl::Status status = CommitHere(peer, decision, /*wait_durable=*/reply != nullptr);
    if (reply != nullptr) reply->set_step(state_ == nullptr ? 0 : state_->step());
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
  absl::Status Fence(const FenceRequest& request, FenceReply* reply) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return FenceHere(request, reply);
  }
  absl::Status Describe(const DescribeServerRequest& request, DescribeServerReply* reply) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return DescribeHere(request, reply);
  }

  absl::Status Ahead(const AheadRequest& request) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return AheadHere(request);
  }
  absl::Status GetRows(const GetRowsRequest& request, GetRowsReply* reply) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return GetRowsHere(request, reply);
  }
  absl::Status Evict(const EvictRequest& request, EvictReply* reply) {
    if (!gate_.EnterShared()) return gate_.Busy();
    const SharedPass inside(&gate_);
    return EvictHere(request, reply);
  }
  absl::Status Recover() {
    if (!gate_.EnterExclusive("a start")) return gate_.Busy();
    const ExclusivePass inside(&gate_);
    return RecoverHere();
  }
  bool IsOpen() {
    if (!gate_.EnterShared()) return false;
    const SharedPass inside(&gate_);
    return state_ != nullptr;
  }
  absl::Status WriteBackAll() {
    if (!gate_.EnterExclusive("write-back")) return gate_.Busy();
    const ExclusivePass inside(&gate_);
    return state_ == nullptr ? absl::OkStatus() : state_->WriteBackAll();
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
  std::string Folder() const ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status OpenHere(const OpenRequest& request, OpenReply* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status RecoverHere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status CommitHere(const Peer& peer, const Decision& decision, bool wait_durable) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status SaveHere(const SaveRequest& request, SaveReply* reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate_);
  absl::Status PullHere(const PullRequest& request, PullReply* reply, bool* commit_first) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status StageHere(const StageRequest& request, bool* commit_first) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status PushHere(const PushRequest& request, PushReply* reply) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status FenceHere(const FenceRequest& request, FenceReply* reply) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status DescribeHere(const DescribeServerRequest& request, DescribeServerReply* reply) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status AheadHere(const AheadRequest& request) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status GetRowsHere(const GetRowsRequest& request, GetRowsReply* reply) ABSL_SHARED_LOCKS_REQUIRED(gate_);
  absl::Status EvictHere(const EvictRequest& request, EvictReply* reply) ABSL_SHARED_LOCKS_REQUIRED(gate_);

  const ServerOptions options_;
  ThreadPool* const pool_;
  Gate gate_;
  Peer own_ ABSL_GUARDED_BY(gate_);
  std::unique_ptr<ShardState> state_ ABSL_GUARDED_BY(gate_);  // null: closed
  std::atomic<uint64_t> pulls_{0};
  std::atomic<uint64_t> pushes_{0};
  std::atomic<uint64_t> refused_gradients_{0};
};

}  // namespace tessera
