#include "ps/coordinator/task_queue.h"

#include <algorithm>
#include <cassert>

namespace tessera {
namespace {

constexpr uint64_t kTasksPerEpochMin = 32;

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

const TaskQueue::Entry* TaskQueue::HandOut(Member member, uint32_t workers, uint64_t optimizer_step) {
  if (open_.empty()) return nullptr;
  uint64_t left = 0;
  for (const BlockRun& run : open_) left += run.last - run.first;
  const uint64_t tasks = 4 * std::max<uint64_t>(1, workers);
  const uint64_t least = std::max<uint64_t>(1, epoch_blocks_ / std::max<uint64_t>(kTasksPerEpochMin, tasks));
  const uint64_t wanted = std::min(std::max(left / tasks, least), blocks_max_);
  BlockRun& front = open_.front();
  Entry& entry = outstanding_[++tasks_];
  entry.task = tasks_;
  entry.run = {front.first, std::min(front.last, front.first + wanted)};
  entry.member = member;
  entry.optimizer_step = optimizer_step;
  entry.stride = std::max<uint64_t>(1, workers);
  front.first = entry.run.last;
  if (front.first == front.last) open_.pop_front();
  return &entry;
}

std::optional<TaskQueue::Entry> TaskQueue::Done(uint64_t task) {
  const auto it = outstanding_.find(task);
  if (it == outstanding_.end()) return std::nullopt;
  const Entry entry = it->second;
  outstanding_.erase(it);
  return entry;
}

std::vector<Member> TaskQueue::Awaited() const {
  std::vector<Member> awaited;
  for (const auto& [task, entry] : outstanding_) awaited.push_back(entry.member);
  return awaited;
}

std::vector<BlockRun> TaskQueue::OpenRuns() const { return {open_.begin(), open_.end()}; }

void TaskQueue::Save(RunRecord* record) const {
  record->set_epoch_blocks(epoch_blocks_);
  for (const auto& [number, entry] : outstanding_) {
    TaskRecord* task = record->add_tasks();
    task->set_task(number);
    task->set_first_block(entry.run.first);
    task->set_last_block(entry.run.last);
    task->set_worker(entry.member.worker);
    task->set_generation(entry.member.generation);
    task->set_optimizer_step(entry.optimizer_step);
    task->set_stride(entry.stride);
  }
}

void TaskQueue::Restore(const RunRecord& record) {
  epoch_blocks_ = record.epoch_blocks();
  for (const TaskRecord& task : record.tasks()) {
    outstanding_[task.task()] = {task.task(), {task.first_block(), task.last_block()}, {task.worker(), task.generation()},
                                 task.optimizer_step(), task.stride()};
  }
}

}  // namespace tessera
