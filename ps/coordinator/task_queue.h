// The data tasks of async mode: runs of an epoch's blocks, handed out as workers come for them, smaller towards the end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "proto/coordinator_record.pb.h"
#include "proto/plan.pb.h"
#include "ps/coordinator/members.h"

namespace tessera {

// Blocks of one epoch of training data (see InputFile).
uint64_t BlockCount(const Plan& plan);

// Blocks [first, last) of the epoch's order.
struct BlockRun {
  uint64_t first = 0;
  uint64_t last = 0;
};

// Thread-compatible, pure. Every block of an epoch is in exactly one task.
class TaskQueue {
 public:
  // Task numbers go on after `tasks` (they are part of the shuffling's key, so none comes twice in a job).
  TaskQueue(uint64_t tasks, uint64_t block_bytes);

  struct Entry {
    uint64_t task = 0;
    BlockRun run;
    Member member;
    uint64_t optimizer_step = 0;  // of its first push
    uint64_t stride = 1;
    uint64_t first_row = 0;       // of the task's rows in their order those before it are trained
    uint32_t deaths = 0;          // workers that died while they had it
    uint64_t clock = 0;           // bounded: batches its worker has done
  };

  // REQUIRES: EpochOver().
  void StartEpoch(std::vector<BlockRun> open);
  // As Save wrote them, after StartEpoch.
  void Restore(const TrainingState& state, const RunRecord& record);
  // The task this member has and has not reported.
  const Entry* Outstanding(Member member) const;
  // A task whose worker is not among `live` any more.
  const Entry* Lost(absl::Span<const Member> live) const;
  // An earlier life of the same worker has one.
  bool HasEarlierLife(Member member) const;
  // The next task: one that was begun, else open / (4 * workers) blocks, no more than kTaskBytesMax has, and no fewer than a 32nd of what the epoch began with (less if
  // there are more than 8 workers): rows are shuffled within a task, and neighbours are alike in a log, so the last steps of an epoch must
  // not see one block each. nullptr if nothing is left to hand out. `clock`: of the member, at least that of the slowest of `live`.
  const Entry* HandOut(Member member, absl::Span<const Member> live, uint64_t optimizer_step, uint64_t clock);
  // Of those of `live` that have a task, the least; `none` if nobody has.
  uint64_t SlowestClock(absl::Span<const Member> live, uint64_t none) const;
  // The member says how many batches it has done. False if it has no task.
  bool SetClock(Member member, uint64_t clock);
  // Members whose clock is the least of all.
  std::vector<Member> Slowest() const;
  // Nothing if no such task is out (a repeated report), else the task as it was.
  std::optional<Entry> Done(uint64_t task);
  // The rows of the task before this one are trained; somebody else is to go on. Answers as Done.
  std::optional<Entry> Return(uint64_t task, uint64_t first_row);
  // The member died. Its task, with that counted, or nullptr.
  const Entry* CountDeath(Member member);

  bool EpochOver() const { return open_.empty() && begun_.empty() && outstanding_.empty(); }
  bool Idle() const { return outstanding_.empty(); }
  uint64_t tasks() const { return tasks_; }  // handed out so far
  std::vector<Member> Awaited() const;
  // Blocks not handed out yet.
  std::vector<BlockRun> OpenRuns() const;
  // Tasks that were begun and nobody has (a checkpoint keeps them), and those under way.
  void SaveBegun(TrainingState* state) const;
  void SaveUnderWay(RunRecord* record) const;

 private:
  // REQUIRES: open_ is not empty.
  BlockRun TakeBlocks(uint32_t workers);

  uint64_t blocks_max_;
  uint64_t tasks_;
  uint64_t epoch_blocks_ = 0;
  std::deque<BlockRun> open_;
  std::deque<Entry> begun_;  // of nobody
  std::map<uint64_t, Entry> outstanding_;  // by task
};

// So that a save, which waits for the tasks under way, does not wait for an hour.
inline constexpr uint64_t kTaskBytesMax = uint64_t{1} << 30;

}  // namespace tessera
