// Work that goes on beside the calls of a server.
#pragma once

#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/mutex.h"

namespace tessera {

// Does one piece of work on a thread of its own, whenever it is kicked and at least every `interval`. Kicks while the work is being done
// make it be done once more. Thread-safe.
class Background {
 public:
  Background(absl::Duration interval, std::function<void()> work);
  // Waits for the work in progress.
  ~Background();
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void Kick();

 private:
  void Run();

  const absl::Duration interval_;
  const std::function<void()> work_;
  Mutex mutex_;
  CondVar changed_;
  bool kicked_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all above
};

}  // namespace tessera
