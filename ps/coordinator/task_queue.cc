#include "ps/coordinator/task_queue.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace tessera {
namespace {

constexpr uint64_t kTasksPerEpochMin = 32;

TaskRecord RecordOf(const TaskQueue::Entry& entry) {
  TaskRecord task;
  task.set_task(entry.task);
  task.set_first_block(entry.run.first);
  task.set_last_block(entry.run.last);
  task.set_worker(entry.member.worker);
  task.set_generation(entry.member.generation);
  task.set_optimizer_step(entry.optimizer_step);
  task.set_stride(entry.stride);
  task.set_first_row(entry.first_row);
  task.set_deaths(entry.deaths);
  task.set_clock(entry.clock);
  return task;
}

TaskQueue::Entry EntryOf(const TaskRecord& task) {
  return {task.task(),           {task.first_block(), task.last_block()}, {task.worker(), task.generation()},
          task.optimizer_step(), task.stride(),                          task.first_row(),
          task.deaths(),         task.clock()};
}

}  // namespace

uint64_t BlockCount(const Plan& plan) {
  const uint64_t block_bytes = std::max<uint64_t>(1, plan.job().data().block_bytes().bytes());
  uint64_t blocks = 0;
  for (const InputFile& file : plan.train()) blocks += (file.plain_bytes() + block_bytes - 1) / block_bytes;
  return blocks;
}

TaskQueue::TaskQueue(uint64_t tasks, uint64_t block_bytes)
    : blocks_max_(std::max<uint64_t>(1, kTaskBytesMax / std::max<uint64_t>(1, block_bytes))), tasks_(tasks) {}

void TaskQueue::StartEpoch(std::vector<BlockRun> open) {
  assert(EpochOver());
  epoch_blocks_ = 0;
  for (const BlockRun& run : open) {
    if (run.first >= run.last) continue;
    epoch_blocks_ += run.last - run.first;
    open_.push_back(run);
  }
}

const TaskQueue::Entry* TaskQueue::Outstanding(Member member) const {
  for (const auto& [task, entry] : outstanding_) {
    if (entry.member == member) return &entry;
  }
  return nullptr;
}

const TaskQueue::Entry* TaskQueue::Lost(absl::Span<const Member> live) const {
  for (const auto& [task, entry] : outstanding_) {
    if (std::find(live.begin(), live.end(), entry.member) == live.end()) return &entry;
  }
  return nullptr;
}

bool TaskQueue::HasEarlierLife(Member member) const {
  for (const auto& [task, entry] : outstanding_) {
    if (entry.member.worker == member.worker && entry.member.generation < member.generation) return true;
  }
  return false;
}

const TaskQueue::Entry* TaskQueue::HandOut(Member member, absl::Span<const Member> live, uint64_t optimizer_step, uint64_t clock) {
  const uint32_t workers = static_cast<uint32_t>(live.size());
  Entry entry;
  if (!begun_.empty()) {
    entry = begun_.front();
    begun_.pop_front();
  } else if (!open_.empty()) {
    entry.task = ++tasks_;
    entry.run = TakeBlocks(workers);
  } else {
    return nullptr;
  }
  entry.member = member;
  entry.optimizer_step = optimizer_step;
  entry.stride = std::max<uint64_t>(1, workers);
  entry.clock = std::max(clock, SlowestClock(live, 0));
  return &(outstanding_[entry.task] = entry);
}

uint64_t TaskQueue::SlowestClock(absl::Span<const Member> live, uint64_t none) const {
  std::optional<uint64_t> slowest;
  for (const auto& [task, entry] : outstanding_) {
    if (std::find(live.begin(), live.end(), entry.member) == live.end()) continue;
    slowest = std::min(slowest.value_or(entry.clock), entry.clock);
  }
  return slowest.value_or(none);
}

bool TaskQueue::SetClock(Member member, uint64_t clock) {
  for (auto& [task, entry] : outstanding_) {
    if (!(entry.member == member)) continue;
    entry.clock = std::max(entry.clock, clock);
    return true;
  }
  return false;
}

std::vector<Member> TaskQueue::Slowest() const {
  std::vector<Member> slowest;
  uint64_t least = std::numeric_limits<uint64_t>::max();
  for (const auto& [task, entry] : outstanding_) {
    if (entry.clock < least) slowest.clear();
    least = std::min(least, entry.clock);
    if (entry.clock == least) slowest.push_back(entry.member);
  }
  return slowest;
}

BlockRun TaskQueue::TakeBlocks(uint32_t workers) {
  uint64_t left = 0;
  for (const BlockRun& run : open_) left += run.last - run.first;
  const uint64_t tasks = 4 * std::max<uint64_t>(1, workers);
  const uint64_t least = std::max<uint64_t>(1, epoch_blocks_ / std::max<uint64_t>(kTasksPerEpochMin, tasks));
  const uint64_t wanted = std::min(std::max(left / tasks, least), blocks_max_);
  BlockRun& front = open_.front();
  const BlockRun run = {front.first, std::min(front.last, front.first + wanted)};
  front.first = run.last;
  if (front.first == front.last) open_.pop_front();
  return run;
}

std::optional<TaskQueue::Entry> TaskQueue::Done(uint64_t task) {
  const auto it = outstanding_.find(task);
  if (it == outstanding_.end()) return std::nullopt;
  const Entry entry = it->second;
  outstanding_.erase(it);
  return entry;
}

std::optional<TaskQueue::Entry> TaskQueue::Return(uint64_t task, uint64_t first_row) {
  const std::optional<Entry> entry = Done(task);
  if (!entry.has_value()) return entry;
  Entry& begun = begun_.emplace_back(*entry);
  begun.member = Member();
  begun.first_row = first_row;
  return entry;
}

const TaskQueue::Entry* TaskQueue::CountDeath(Member member) {
  for (auto& [task, entry] : outstanding_) {
    if (!(entry.member == member)) continue;
    ++entry.deaths;
    return &entry;
  }
  return nullptr;
}

std::vector<Member> TaskQueue::Awaited() const {
  std::vector<Member> awaited;
  for (const auto& [task, entry] : outstanding_) awaited.push_back(entry.member);
  return awaited;
}

std::vector<BlockRun> TaskQueue::OpenRuns() const { return {open_.begin(), open_.end()}; }

void TaskQueue::SaveBegun(TrainingState* state) const {
  state->clear_begun_tasks();
  for (const Entry& entry : begun_) *state->add_begun_tasks() = RecordOf(entry);
}

void TaskQueue::SaveUnderWay(RunRecord* record) const {
  record->set_epoch_blocks(epoch_blocks_);
  for (const auto& [number, entry] : outstanding_) *record->add_tasks() = RecordOf(entry);
}

void TaskQueue::Restore(const TrainingState& state, const RunRecord& record) {
  epoch_blocks_ = std::max(epoch_blocks_, record.epoch_blocks());
  for (const TaskRecord& task : state.begun_tasks()) begun_.push_back(EntryOf(task));
  for (const TaskRecord& task : record.tasks()) outstanding_[task.task()] = EntryOf(task);
}

}  // namespace tessera
