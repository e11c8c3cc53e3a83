// Stages, commits, pushes, evictions: decided, logged, applied, in this order and one at a time.
#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "common/clock.h"
#include "common/fault_point.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "ps/server/memory_plan.h"
#include "ps/server/shard_state.h"

namespace tessera {
namespace {

// A call that waits for room or for the disk says so before its caller gives up.
constexpr absl::Duration kRoomPatience = absl::Milliseconds(kCallMs / 3);
constexpr absl::Duration kRoomPoll = absl::Milliseconds(100);

LoggedHeader HeaderOf(const Peer& peer, const Gradients& gradients) {
  LoggedHeader header;
  header.set_worker(peer.worker());
  header.set_generation(peer.generation());
  header.set_dense_slice(gradients.dense_slice());
  header.set_rows(gradients.rows());
  return header;
}

LoggedHeader HeaderOf(const StageRequest& request) {
  LoggedHeader header = HeaderOf(request.peer(), request.gradients());
  header.set_step(request.step());
  header.set_share(request.share());
  header.set_part(request.part());
  header.set_parts(request.parts());
  return header;
}

// `staleness`: batches that were applied since the values of the gradients were read. Learning rates divided by it: Zhang, Gupta, Lian, Liu,
// "Staleness-aware async-SGD for distributed deep learning", 2016.
LoggedHeader HeaderOf(const PushRequest& request, uint64_t staleness) {
  LoggedHeader header = HeaderOf(request.peer(), request.gradients());
  const double divisor = request.compensate() ? static_cast<double>(std::max<uint64_t>(1, staleness)) : 1;
  header.set_sequence(request.sequence());
  header.set_optimizer_step(request.optimizer_step());
  header.set_sparse_learning_rate(request.sparse_learning_rate() / divisor);
  header.set_dense_learning_rate(request.dense_learning_rate() / divisor);
  header.set_divisor(request.divisor());
  header.set_period(request.period());
  *header.mutable_task_done() = request.task_done();
  header.set_last_part(request.last_part());
  header.set_staleness(staleness);
  return header;
}

}  // namespace

absl::Status ShardState::WaitForRoom(uint64_t ids, uint64_t bytes, const std::string& sender) {
  const absl::Time deadline = Clock::Real()->Now() + kRoomPatience;
  for (;;) {
    TESSERA_RETURN_IF_ERROR(health());
    // A commit is never refused: an eighth of the log is left to commits, and a part of memory to rows that staged parts will make dirty.
    const bool memory_full = memory_rows_max_ > 0 && rows_->dirty_rows() > DirtyRowsBeside(ids);
    const bool log_full = log_ != nullptr && log_->bytes() + bytes > log_->bytes_max() / 8 * 7 + steps_.BytesAgain();
    if (!memory_full && !log_full) return absl::OkStatus();
    MutexLock lock(&progress_mutex_);
    wanted_ids_ = std::max(wanted_ids_, ids);
    upkeep_->Kick();
    if (Clock::Real()->Now() >= deadline) {
      const std::string why = stalled_.empty() ? "write-back does not keep up" : stalled_;
      return absl::ResourceExhaustedError(absl::StrCat("full: ", sender, ": ", memory_full ? "memory is full of rows that are not on disk yet (storage.memory_per_server)"
                                                                  : "the log is full (storage.log_per_server)", ": ", why));
    }
    progress_.WaitWithTimeout(&progress_mutex_, kRoomPoll);
  }
}

absl::StatusOr<uint64_t> ShardState::Append(LogKind kind, const LogBody& body, LogRoom room) {
  if (log_ == nullptr) return ++lsn_;
  absl::StatusOr<uint64_t> lsn = log_->Append(kind, body.pieces(), room);
  if (lsn.ok()) {
    lsn_ = *lsn;
    if (upkeep_ != nullptr && log_->WantsSpare()) upkeep_->Kick();
    return lsn;
  }
  if (absl::IsResourceExhausted(lsn.status())) return absl::ResourceExhaustedError(absl::StrCat("full: ", lsn.status().message()));
  return lsn.status();
}

absl::Status ShardState::WaitDurable(uint64_t lsn) {
  return log_ == nullptr ? absl::OkStatus() : log_->WaitDurable(lsn, kRoomPatience);
}

absl::Status ShardState::ApplyUpdate(const PreparedUpdate& update, absl::Span<const CheckedGradients* const> sources,
                                     double dense_learning_rate, UpdateRule rule) {
  TESSERA_RETURN_IF_ERROR(rows_->Apply(update, rule));
  std::vector<std::vector<absl::Span<const float>>> dense(dense_->slices());
  for (const CheckedGradients* source : sources) {
    if (!source->dense.empty()) dense[source->dense_slice].push_back(source->dense);
  }
  rule.learning_rate = dense_learning_rate;
  for (uint32_t slice = 0; slice < dense.size(); ++slice) dense_->Apply(slice, dense[slice], rule);
  // Write-back stays ahead of the rows that leave memory.
  for (const CheckedGradients* source : sources) unkicked_ids_ += source->id_count();
  if (upkeep_ != nullptr && memory_rows_max_ > 0 && unkicked_ids_ > memory_rows_max_ / 64) {
    unkicked_ids_ = 0;
    upkeep_->Kick();
  }
  return absl::OkStatus();
}

absl::Status ShardState::DropStage(const StageRequest& request) {
  uint64_t lsn = 0;
  {
    MutexLock lock(&update_mutex_);
    if (!steps_.HasParts(request)) return absl::OkStatus();
    // Without a record of it a replay would find the parts again, and take what is staged in their place for repeats of them.
    LoggedHeader header = HeaderOf(request);
    header.set_dropped(true);
    TESSERA_ASSIGN_OR_RETURN(lsn, Append(LogKind::kStage, LogBody(std::move(header), nullptr), LogRoom::kBeyond));
    steps_.Drop(request);
  }
  return WaitDurable(lsn);
}

absl::StatusOr<bool> ShardState::Stage(const StageRequest& request, CheckedGradients checked) {
  const std::string sender = NameOf(request);
  const uint64_t bytes = LoggedBytes(request.gradients());
  // Room is charged once for a share: who does again what a dead worker had done must not wait for the step that waits for it.
  if (!steps_.IsTakenOver(request)) TESSERA_RETURN_IF_ERROR(WaitForRoom(checked.id_count(), bytes, sender));
  FaultPoint("stage.arrived");
  uint64_t lsn = 0;
  bool repeat = false;
  {
    MutexLock lock(&update_mutex_);
    // A repeat that came while the first one was on its way counts once.
    TESSERA_ASSIGN_OR_RETURN(const StagedPart* const staged, steps_.FindStaged(request));
    repeat = staged != nullptr;
    if (repeat) {
      lsn = staged->lsn;
    } else {
      TESSERA_ASSIGN_OR_RETURN(lsn, Append(LogKind::kStage, LogBody(HeaderOf(request), &request.gradients()), LogRoom::kBeyond));
      StagedPart part;
      part.request = std::make_unique<StageRequest>(request);
      part.gradients = std::move(checked);
      part.gradients.ViewOf(part.request->gradients());
      part.lsn = lsn;
      part.bytes = bytes;
      TESSERA_RETURN_IF_ERROR(steps_.Add(std::move(part)));
    }
  }
  FaultPoint("stage.logged");
  TESSERA_RETURN_IF_ERROR(WaitDurable(lsn));
  return !repeat;
}

absl::Status ShardState::Commit(const Decision& decision, bool wait_durable) {
  uint64_t lsn = 0;
  {
    MutexLock lock(&update_mutex_);
    TESSERA_ASSIGN_OR_RETURN(const std::vector<const StagedPart*> parts, steps_.WinnersOf(decision));
    std::vector<const CheckedGradients*> sources;
    UpdateRule rule;
    rule.first_lsn = std::numeric_limits<uint64_t>::max();
    for (const StagedPart* part : parts) {
      sources.push_back(&part->gradients);
      rule.first_lsn = std::min(rule.first_lsn, part->lsn);
    }
    rule.learning_rate = decision.sparse_learning_rate();
    rule.divisor = decision.rows();
    rule.optimizer_step = decision.optimizer_step();
    rule.step = decision.step();
    rule.period = decision.period();
    PreparedUpdate update;
    if (!parts.empty()) {
      TESSERA_ASSIGN_OR_RETURN(update, rows_->Prepare(RowsOf(sources), rule, nullptr));
    }
    LoggedHeader header;
    *header.mutable_decision() = decision;
    header.mutable_decision()->clear_assignment();
    if (!parts.empty()) header.set_first_lsn(rule.first_lsn);
    SetFacts(update.facts, &header);
    TESSERA_ASSIGN_OR_RETURN(lsn, Append(LogKind::kCommit, LogBody(std::move(header), nullptr), LogRoom::kBeyond));
    FaultPoint("commit.logged");
    rule.lsn = lsn;
    rule.first_lsn = std::min(rule.first_lsn, lsn);
    if (!parts.empty()) {
      if (const absl::Status status = ApplyUpdate(update, sources, decision.dense_learning_rate(), rule); !status.ok()) {
        Fail(status);
        return status;
      }
    }
    steps_.Applied(decision);
  }
  return wait_durable ? WaitDurable(lsn) : absl::OkStatus();
}

absl::StatusOr<ShardState::Pushed> ShardState::Push(const PushRequest& request, const CheckedGradients& checked) {
  TESSERA_RETURN_IF_ERROR(WaitForRoom(checked.id_count(), LoggedBytes(request.gradients()), NameOf(request)));
  FaultPoint("push.arrived");
  Pushed pushed;
  uint64_t lsn = 0;
  {
    MutexLock lock(&update_mutex_);
    TESSERA_ASSIGN_OR_RETURN(const PushLedger::Verdict verdict, ledger_.Check(request.peer(), request.sequence()));
    lsn = verdict.lsn;
    pushed = {.repeat = verdict.repeat, .staleness = verdict.staleness};
    if (!verdict.repeat) {
      const uint64_t updates = updates_.load();
      pushed.staleness = updates - std::min(updates, request.read_updates());
      LoggedHeader header = HeaderOf(request, pushed.staleness);
      UpdateRule rule;
      rule.learning_rate = header.sparse_learning_rate();
      rule.divisor = request.divisor();
      rule.optimizer_step = request.optimizer_step();
      rule.step = request.optimizer_step();
      rule.period = request.period();
      const CheckedGradients* const source = &checked;
      TESSERA_ASSIGN_OR_RETURN(const PreparedUpdate update, rows_->Prepare(RowsOf({&source, 1}), rule, nullptr));
      SetFacts(update.facts, &header);
      TESSERA_ASSIGN_OR_RETURN(lsn, Append(LogKind::kPush, LogBody(header, &request.gradients()), LogRoom::kLimited));
      FaultPoint("push.logged");
      rule.lsn = lsn;
      if (const absl::Status status = ApplyUpdate(update, {&source, 1}, header.dense_learning_rate(), rule); !status.ok()) {
        Fail(status);
        return status;
      }
      ledger_.Record(header, lsn);
      if (request.last_part()) ++updates_;
      pushed_step_ = std::max<uint64_t>(pushed_step_, request.optimizer_step());
    }
  }
  FaultPoint("push.applied");
  // A repeat, too, is acknowledged only once the record of the first is durable.
  TESSERA_RETURN_IF_ERROR(WaitDurable(lsn));
  return pushed;
}

absl::StatusOr<FenceReply> ShardState::Fence(const Peer& peer) {
  FenceReply reply;
  uint64_t lsn = 0;
  {
    MutexLock lock(&update_mutex_);
    TESSERA_ASSIGN_OR_RETURN(const std::optional<LedgerEntry> held, ledger_.Find(peer.worker(), peer.generation()));
    if (held.has_value()) {
      reply.set_sequence(held->sequence());
      *reply.mutable_done() = held->done();
      reply.set_begun_task(held->begun_task());
      reply.set_begun_row(held->begun_row());
      reply.set_batches(held->batches());
    }
    if (held.has_value() && held->fenced()) {
      lsn = held->lsn();
    } else {
      LoggedHeader header;
      header.set_worker(peer.worker());
      header.set_generation(peer.generation());
      TESSERA_ASSIGN_OR_RETURN(lsn, Append(LogKind::kFence, LogBody(std::move(header), nullptr), LogRoom::kBeyond));
      ledger_.Fence(peer.worker(), peer.generation(), lsn);
    }
  }
  TESSERA_RETURN_IF_ERROR(WaitDurable(lsn));
  return reply;
}

absl::StatusOr<std::vector<uint64_t>> ShardState::Evict(const Eviction& job_rule, uint32_t partition, bool dry_run) {
  MutexLock lock(&update_mutex_);
  EvictionMoment moment;
  moment.step = step();
  moment.period = rows_->period();
  const EvictionRule rule = EvictionRuleOf(job_rule, opened_.table().name());
  TESSERA_ASSIGN_OR_RETURN(std::vector<uint64_t> ids, rows_->FindEvicted(rule, moment, partition));
  if (dry_run || ids.empty()) return ids;
  PreparedUpdate update;
  update.facts.evicted_ids = ids;
  LoggedHeader header;
  SetFacts(update.facts, &header);
  UpdateRule update_rule;
  update_rule.step = moment.step;
  TESSERA_ASSIGN_OR_RETURN(update_rule.lsn, Append(LogKind::kEvict, LogBody(std::move(header), nullptr), LogRoom::kLimited));
  if (const absl::Status status = rows_->Apply(update, update_rule); !status.ok()) {
    Fail(status);
    return status;
  }
  return ids;
}

}  // namespace tessera
