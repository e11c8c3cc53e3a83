#include "worker/train/heartbeat.h"

#include "common/limits.h"

namespace tessera {

Heartbeat::Heartbeat(CoordinatorApi* coordinator, uint32_t worker, uint64_t generation) : coordinator_(coordinator) {
  request_.set_worker(worker);
  request_.set_generation(generation);
  thread_ = std::thread([this] { Beat(); });
}

Heartbeat::~Heartbeat() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    stopped_.SignalAll();
  }
  thread_.join();
}

void Heartbeat::Beat() {
  while (true) {
    {
      MutexLock lock(&mutex_);
      if (!stopping_) stopped_.WaitWithTimeout(&mutex_, absl::Milliseconds(kHeartbeatMs));
      if (stopping_) return;
    }
    HeartbeatReply reply;
    (void)coordinator_->Heartbeat(request_, &reply);
  }
}

}  // namespace tessera
