// Workers that push at the same time. Gradients are whole numbers and the optimizer is SGD, so each value must be exactly the sum of what
// was pushed, in whatever order the pushes came. Verify may be called beside Run.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "ps/server/gate.h"
#include "tests/integration/load.h"
#include "tests/integration/push_world.h"

namespace tessera {

class SummedLoad : public Load {
 public:
  SummedLoad(Durability durability, uint32_t workers, uint64_t seed);

  const OpenRequest& open() const override { return world_.open(); }
  absl::Status CatchUp(ParameterServerApi* server) override;
  absl::Status Verify(ParameterServerApi* server) override;
  void Run(ParameterServerApi* server, Phase* phase) override;
  uint64_t acknowledged() const override { return acknowledged_; }

 private:
  struct Worker {
    Worker(uint32_t number, uint64_t seed) : number(number), random(MixKey(seed, number)) {}
    const uint32_t number;
    RandomSequence random;
    uint64_t sequence = 0;               // of the last push made
    std::unique_ptr<PushRequest> push;   // not acknowledged yet
    std::deque<PushRequest> older;       // a few that were
  };

  void MakePush(Worker* worker);
  absl::Status SendPush(ParameterServerApi* server, Worker* worker);
  // Calls that must change nothing: a push that comes again; one that comes before its turn, while the worker's next was never sent.
  absl::Status SendOlder(ParameterServerApi* server, Worker* worker);
  absl::Status SendEarly(ParameterServerApi* server, Worker* worker);
  void Add(const PushRequest& push);

  const PushWorld world_;
  std::vector<Worker> workers_;
  std::atomic<uint64_t> acknowledged_{0};
  uint64_t verified_ = 0;
  Gate comparing_;  // a push and its part of the sums are inside together, so that who compares sees both or none
  Mutex mutex_;
  std::vector<float> values_ ABSL_GUARDED_BY(mutex_);  // of world_.ids()
  std::vector<float> dense_ ABSL_GUARDED_BY(mutex_);
  std::vector<bool> touched_ ABSL_GUARDED_BY(mutex_);  // has a row
};

}  // namespace tessera
