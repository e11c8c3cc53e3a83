// The rules of sync steps on one server: what it has applied, what is staged, and what a call at step t may do. Knows no tables.
//
// a is the last applied step. Every call of step t carries the decision d(t-1): a server with a = t-2 commits it first, one with
// a = t-1 is where the call expects it, one with a >= t has gone on ("step over"), one with a < t-2 came back older than what it had
// acknowledged ("state lost").
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "proto/shard.pb.h"
#include "ps/server/gradients.h"

namespace tessera {

// One part of one share's stage, with the message it views.
struct StagedPart {
  std::unique_ptr<StageRequest> request;
  CheckedGradients gradients;
  uint64_t lsn = 0;    // of its record
  uint64_t bytes = 0;  // of its record, about
};

// Thread-safe. Calls that change the step (Applied, Reset) must not overlap calls that rely on it; the server's gate sees to that.
class SyncSteps {
 public:
  // Attempts kept of one share's step: beyond, somebody stages again and again without ever being decided.
  static constexpr size_t kAttemptsMax = 4;

  // Drops everything; `step` is the last applied step, `decision` d(step) where it is known.
  void Reset(uint64_t step, const Decision* decision = nullptr);
  uint64_t step() const;

  enum class Standing { kHere, kCommitFirst };
  // Of a call at step t >= 1 that carries `decision`. ABORTED "step over", DATA_LOSS "state lost", INVALID_ARGUMENT when the decision is
  // not d(t-1), FAILED_PRECONDITION when it is another d(t-1) than the one applied here.
  absl::StatusOr<Standing> StandingOf(uint64_t step, const Decision& decision) const;
  // Of a flagged d(t) that is sent itself: kCommitFirst if it is to be applied now, kHere if it has been.
  absl::StatusOr<Standing> StandingOfCommit(const Decision& decision) const;

  // The part that is staged already where this is a repeat of it, so that it is acknowledged without being looked at; null where it is
  // new. INVALID_ARGUMENT when its part numbers contradict an earlier part, RESOURCE_EXHAUSTED when too many attempts of the share are
  // staged. Valid until the next Applied, Drop or Reset.
  absl::StatusOr<const StagedPart*> FindStaged(const StageRequest& request) const;
  // Keeps a part of a stage of step a + 1; of two equal ones the first. Errors as FindStaged.
  absl::Status Add(StagedPart part);
  // Forgets all parts of the attempt that `request` belongs to: one of them was refused, so nothing of it is kept. HasParts: there are any.
  void Drop(const StageRequest& request);
  bool HasParts(const StageRequest& request) const;

  // Whether another worker, or another life of this one, has staged the share of `request`.
  bool IsTakenOver(const StageRequest& request) const;
  // Bytes of all attempts but the largest of each share.
  uint64_t BytesAgain() const;

  // The parts d(t) names: share by share in share order, part by part. DATA_LOSS "state lost" when one is missing, INVALID_ARGUMENT
  // when the decision contradicts itself. Valid until the next Applied or Reset.
  absl::StatusOr<std::vector<const StagedPart*>> WinnersOf(const Decision& decision) const;
  // The decision is applied: all stages of its step are dropped.
  void Applied(const Decision& decision);

  // The lowest lsn of anything staged; UINT64_MAX where there is nothing.
  uint64_t OldestStaged() const;
  // a and d(a).
  void Save(ShardRecord* record) const;

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint64_t>;  // share, worker, generation
  struct StagedShare {
    std::vector<std::unique_ptr<StagedPart>> parts;  // null: not here yet
  };

  absl::StatusOr<const StagedPart*> FindStagedLocked(const StageRequest& request) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable Mutex mutex_;
  uint64_t step_ ABSL_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Decision> last_ ABSL_GUARDED_BY(mutex_);  // d(a), where it was applied here
  std::map<Key, StagedShare> staged_ ABSL_GUARDED_BY(mutex_);
};

// "stage of share 2 by worker 1 generation 1, step 7": for messages.
std::string NameOf(const StageRequest& request);

}  // namespace tessera
