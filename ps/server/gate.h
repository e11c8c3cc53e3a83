// Many readers of one version, or one change of version: a lock whose every wait has a deadline.
#pragma once

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace tessera {

// A change that waits goes before readers that come later, so it cannot be starved. Not reentrant. Thread-safe. Who was let in leaves by a
// SharedPass or an ExclusivePass, so that nothing can hold the gate for ever.
class ABSL_LOCKABLE Gate {
 public:
  explicit Gate(absl::Duration patience) : patience_(patience) {}

  // False when the gate stayed closed for `patience`: then Busy() is the answer.
  bool EnterShared() ABSL_SHARED_TRYLOCK_FUNCTION(true);
  void LeaveShared() ABSL_UNLOCK_FUNCTION();
  // `what` names the change for those who wait in vain ("a save"); a literal.
  bool EnterExclusive(const char* what) ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true);
  void LeaveExclusive() ABSL_UNLOCK_FUNCTION();
  // UNAVAILABLE: says what holds the gate; the caller may try again.
  absl::Status Busy() const;

 private:
  const absl::Duration patience_;
  mutable Mutex mutex_;
  CondVar changed_;
  int readers_ ABSL_GUARDED_BY(mutex_) = 0;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;         // changes
  const char* holder_ ABSL_GUARDED_BY(mutex_) = nullptr;  // the change inside
};

// Leaves when it goes out of scope. Made by who has entered.
class ABSL_SCOPED_LOCKABLE SharedPass {
 public:
  explicit SharedPass(Gate* gate) ABSL_SHARED_LOCKS_REQUIRED(gate) : gate_(gate) {}
  ~SharedPass() ABSL_UNLOCK_FUNCTION() { gate_->LeaveShared(); }
  SharedPass(const SharedPass&) = delete;
  SharedPass& operator=(const SharedPass&) = delete;

 private:
  Gate* const gate_;
};

class ABSL_SCOPED_LOCKABLE ExclusivePass {
 public:
  explicit ExclusivePass(Gate* gate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(gate) : gate_(gate) {}
  ~ExclusivePass() ABSL_UNLOCK_FUNCTION() { gate_->LeaveExclusive(); }
  ExclusivePass(const ExclusivePass&) = delete;
  ExclusivePass& operator=(const ExclusivePass&) = delete;

 private:
  Gate* const gate_;
};

}  // namespace tessera
