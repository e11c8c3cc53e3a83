// Makes a call outlive its caller's patience, without a clock: it is held at a fault point inside the server.
#pragma once

#include <string>

#include "absl/strings/match.h"
#include "common/fault_point.h"
#include "common/mutex.h"
#include "gtest/gtest.h"

namespace tessera {

// From construction on it is what every fault point of the process calls. Thread-safe. REQUIRES: made before, and destroyed after, the
// servers; one call is held at a time.
class SlowApply {
 public:
  SlowApply() {
    SetFaultPoint([this](absl::string_view point) { Pass(point); });
  }
  ~SlowApply() { SetFaultPoint({}); }

  // The next call is held at its `pass`-th fault point.
  void Arm(uint64_t pass) {
    MutexLock lock(&mutex_);
    left_ = pass;
    ended_ = false;
    at_.clear();
  }
  // The call that was armed for has returned.
  void End() {
    MutexLock lock(&mutex_);
    ended_ = true;
    left_ = 0;
    changed_.SignalAll();
  }
  // False where the call returned without being held.
  bool WaitUntilHeld() {
    MutexLock lock(&mutex_);
    Wait([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !at_.empty() || ended_; });
    return !at_.empty();
  }
  // The call that is held goes on once another one has got as far as it can beside it: to the door of updates, or, where a commit is held,
  // just to the server.
  void ReleaseForAnother() {
    MutexLock lock(&mutex_);
    if (at_ == "commit.logged") Release();
  }
  void ReleaseNow() {
    MutexLock lock(&mutex_);
    Release();
  }

 private:
  void Pass(absl::string_view point) {
    MutexLock lock(&mutex_);
    const bool arrived = absl::EndsWith(point, ".arrived");
    if (arrived && !at_.empty()) return Release();
    const bool update = arrived || point == "push.logged" || point == "push.applied" || point == "stage.logged" || point == "commit.logged";
    if (!update || left_ == 0 || --left_ > 0) return;
    at_ = std::string(point);
    changed_.SignalAll();
    Wait([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return at_.empty(); });
  }
  void Release() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    at_.clear();
    changed_.SignalAll();
  }
  template <class Condition>
  void Wait(const Condition& condition) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (!condition()) {
      if (!changed_.WaitWithTimeout(&mutex_, absl::Seconds(60)) || condition()) continue;
      ADD_FAILURE() << "nothing happened for a minute; held at '" << at_ << "'";
      return;
    }
  }

  Mutex mutex_;
  CondVar changed_;
  uint64_t left_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: not armed
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::string at_ ABSL_GUARDED_BY(mutex_);  // where a call is held; empty: nowhere
};

}  // namespace tessera
