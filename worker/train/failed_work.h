// What becomes of work that failed: whether the coordinator is asked again, told of a loss, or the worker ends.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/status.h"

namespace tessera {

// Owned by one thread.
class FailedWork {
 public:
  // kAskAgain: the work is out of date (a step that is over, an incarnation that is closed), and the coordinator knows what is next. kLost: a
  // server lost its state, which the coordinator is to hear. kEnd: anything else, and what fails again and again with no work done between:
  // the worker ends, and the job with it.
  enum class Verdict { kAskAgain, kLost, kEnd };

  // Of an error of work after `step` in `incarnation`; 0: before there was any work.
  Verdict Judge(const absl::Status& status, uint64_t incarnation, uint64_t step);
  // Work was done, or the process begins a new life.
  void Forget() { times_ = 0; }

 private:
  // More than once is no sign of a bug: a coordinator that is killed before it has written that all go back gives the same work again.
  static constexpr int kTimesMax = 8;

  std::pair<uint64_t, uint64_t> at_ = {0, 0};
  int times_ = 0;  // at at_
};

}  // namespace tessera
