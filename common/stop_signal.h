// SIGTERM and SIGINT as something to wait for, instead of a handler in which nothing may be done.
#pragma once

#include "absl/time/time.h"

namespace tessera {

// Blocks both signals in this thread and in all threads it starts afterwards, so construct it first in main. Owned by one thread.
class StopSignal {
 public:
  StopSignal();

  // True once either signal has come, waiting for it at most `timeout`. From then on a second one ends the process as usual.
  bool WaitFor(absl::Duration timeout);

 private:
  bool came_ = false;
};

}  // namespace tessera
