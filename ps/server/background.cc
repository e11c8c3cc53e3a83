#include "ps/server/background.h"

#include <utility>

namespace tessera {

Background::Background(absl::Duration interval, std::function<void()> work)
    : interval_(interval), work_(std::move(work)), thread_([this] { Run(); }) {}

Background::~Background() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
  }
  changed_.SignalAll();
  thread_.join();
}

void Background::Kick() {
  {
    MutexLock lock(&mutex_);
    kicked_ = true;
  }
  changed_.SignalAll();
}

void Background::Run() {
  for (;;) {
    {
      MutexLock lock(&mutex_);
      // A wait that ends early does the work early: no harm.
      if (!kicked_ && !stopping_) changed_.WaitWithTimeout(&mutex_, interval_);
      if (stopping_) return;
      kicked_ = false;
    }
    work_();
  }
}

}  // namespace tessera
