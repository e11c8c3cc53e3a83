// async and bounded: tasks are handed out, reported, returned, and paced.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/staleness.h"
#include "common/status_macros.h"
#include "ps/coordinator/training_run.h"

namespace tessera {
namespace {

std::string NameOf(const PushedBatches& pushed) { return absl::StrCat("worker ", pushed.worker(), ", generation ", pushed.generation()); }

// A server may have more than was reported: a push whose worker died is made again.
absl::Status CheckHeld(size_t shard, uint64_t held, uint64_t reported, const std::string& who) {
  if (held >= reported) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("state lost: server ", shard, " has ", held, " of the ", reported, " batches that ", who, ", pushed"));
}

}  // namespace

void TrainingRun::GiveTask(Member member, absl::Span<const Member> members, uint64_t clock) {
  // The servers keep of a worker what its last life pushed: an earlier life's task must be asked about first.
  if (tasks_.Outstanding(member) != nullptr || tasks_.HasEarlierLife(member)) return;
  const auto place = std::find(members.begin(), members.end(), member) - members.begin();
  const uint64_t from = state_.optimizer_step() + 1 + static_cast<uint64_t>(place);
  const uint64_t step = std::max(from, next_optimizer_step_[member.worker]);
  if (tasks_.HandOut(member, members, step, clock) != nullptr) ++changes_;
}

TrainingRun::Pace TrainingRun::Advance(Member member, uint64_t clock, absl::Span<const Member> live, absl::Time now) {
  Pace pace;
  const uint64_t before = tasks_.SlowestClock(live, clock);
  if (!tasks_.SetClock(member, clock)) return pace;
  pace.has_task = true;
  pace.slowest = tasks_.SlowestClock(live, clock);
  pace.news = pace.slowest > before;
  if (pace.news) last_progress_ = now;
  pace.granted = clock - pace.slowest <= plan_->job().training().staleness();
  Report& report = *state_.mutable_report();
  if (pace.granted) report.set_step_gap_max(std::max(report.step_gap_max(), clock - pace.slowest));
  return pace;
}

absl::Status TrainingRun::Add(const TaskDone& done, absl::Time now) {
  if (sync_mode_) return absl::InvalidArgumentError("a task was reported in a synchronous job");
  if (!std::isfinite(done.loss())) {
    return absl::InvalidArgumentError(absl::StrCat("task ", done.task(), ": its loss is not a finite number"));
  }
  const std::optional<TaskQueue::Entry> entry = tasks_.Done(done.task());
  if (!entry.has_value()) return absl::OkStatus();
  const Progress before = Now();
  CountTask(*entry, done, now);
  if (tasks_.EpochOver()) {
    TESSERA_RETURN_IF_ERROR(TurnEpoch());
    tasks_.StartEpoch({{0, BlockCount(*plan_)}});
  }
  FindBoundary(before, now);
  return absl::OkStatus();
}

absl::Status TrainingRun::Return(const TaskDone& done, uint64_t begun_row, absl::Time now) {
  const std::optional<TaskQueue::Entry> entry = tasks_.Return(done.task(), done.end_row());
  if (!entry.has_value()) return absl::OkStatus();
  if (!std::isfinite(done.loss()) || done.end_row() < entry->first_row) {
    return absl::InternalError(absl::StrCat("task ", done.task(), ": row ", done.end_row(), " and loss ", done.loss(), " cannot be"));
  }
  const Progress before = Now();
  CountTask(*entry, done, now);
  Report& report = *state_.mutable_report();  // goes with the checkpoint, as those rows do
  report.set_rows_twice(report.rows_twice() + std::max(begun_row, done.end_row()) - done.end_row());
  FindBoundary(before, now);
  return absl::OkStatus();
}

absl::Status TrainingRun::CheckPushed(absl::Span<const SaveReply> saves) const {
  for (size_t shard = 0; shard < saves.size(); ++shard) {
    for (const auto& [worker, reported] : pushed_) {
      const auto& all = saves[shard].pushed();
      const auto it = std::find_if(all.begin(), all.end(), [&, w = worker](const PushedBatches& one) { return one.worker() == w; });
      PushedBatches held = it == all.end() ? PushedBatches() : *it;
      if (held.generation() < reported.generation()) {  // has nothing of the last life
        held.set_past_batches(held.past_batches() + held.batches());
        held.set_batches(0);
      }
      const bool later = held.generation() > reported.generation();
      const uint64_t past = reported.past_batches() + (later ? reported.batches() : 0);
      TESSERA_RETURN_IF_ERROR(CheckHeld(shard, held.past_batches(), past, absl::StrCat("worker ", worker, ", earlier generations")));
      if (!later) TESSERA_RETURN_IF_ERROR(CheckHeld(shard, held.batches(), reported.batches(), NameOf(reported)));
    }
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::CheckFenced(Member member, absl::Span<const FenceReply> fences) const {
  const auto reported = pushed_.find(member.worker);
  if (reported == pushed_.end() || reported->second.generation() != member.generation) return absl::OkStatus();
  for (size_t shard = 0; shard < fences.size(); ++shard) {
    TESSERA_RETURN_IF_ERROR(CheckHeld(shard, fences[shard].batches(), reported->second.batches(), NameOf(reported->second)));
  }
  return absl::OkStatus();
}

void TrainingRun::CountStaleness(uint32_t worker, const Staleness& staleness) {
  if (Gradients(staleness) == 0) return;
  auto& all = *state_.mutable_report()->mutable_staleness();
  auto it = std::find_if(all.begin(), all.end(), [&](const WorkerStaleness& one) { return one.worker() >= worker; });
  if (it == all.end() || it->worker() != worker) {
    const auto place = it - all.begin();
    all.Add()->set_worker(worker);
    std::rotate(all.begin() + place, all.end() - 1, all.end());
    it = all.begin() + place;
  }
  tessera::Add(staleness, it->mutable_staleness());
}

void TrainingRun::CountTask(const TaskQueue::Entry& entry, const TaskDone& done, absl::Time now) {
  ++changes_;
  last_progress_ = now;
  CountRefused(done.refused_batches(), done.refused_rows(), done.refusal());
  CountStaleness(entry.member.worker, done.staleness());
  next_optimizer_step_[entry.member.worker] = entry.optimizer_step + done.pushes() * entry.stride;
  PushedBatches& pushed = pushed_[entry.member.worker];
  if (pushed.generation() != entry.member.generation) {
    const uint64_t past = pushed.past_batches() + pushed.batches();
    pushed.Clear();
    pushed.set_past_batches(past);
  }
  pushed.set_worker(entry.member.worker);
  pushed.set_generation(entry.member.generation);
  pushed.set_batches(pushed.batches() + done.pushes());
  state_.set_optimizer_step(state_.optimizer_step() + done.pushes());
  Count(done.rows(), done.loss(), done.pushes());
}

}  // namespace tessera
