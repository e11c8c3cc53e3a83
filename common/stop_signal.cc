#include "common/stop_signal.h"

#include <signal.h>

#include <ctime>

namespace tessera {
namespace {

sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

}  // namespace

StopSignal::StopSignal() {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

bool StopSignal::WaitFor(absl::Duration timeout) {
  if (came_) return true;
  const sigset_t signals = StopSignals();
  const timespec bounded = absl::ToTimespec(timeout);
  if (sigtimedwait(&signals, nullptr, &bounded) < 0) return false;
  came_ = true;
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  return true;
}

}  // namespace tessera
