// What is done to a server between two ends of its process, and what must be there after each start.
#pragma once

#include <functional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/mutex.h"
#include "common/parameter_server_api.h"

namespace tessera {

// The claim under test does not hold: says so and ends this program with exit code 1, and with it the server.
[[noreturn]] void Broken(absl::string_view what);

// Makes the call until it is answered by OK, waiting where the server is full. UNAVAILABLE: the server is down. Broken by any other error.
absl::Status Send(absl::string_view what, const std::function<absl::Status()>& call);
// An error other than of a server that is down is Broken.
absl::Status OkOrDown(absl::string_view what, absl::Status status);

// A stretch of load. Thread-safe.
class Phase {
 public:
  explicit Phase(uint64_t acks_max) : acks_max_(acks_max) {}
  void Acknowledged();
  void Down();  // the server has ended
  bool over() const;
  bool down() const;
  // Returns after so many acknowledgements, or when the phase is over.
  void WaitFor(uint64_t acks);

 private:
  const uint64_t acks_max_;
  mutable Mutex mutex_;
  CondVar changed_;
  uint64_t acks_ ABSL_GUARDED_BY(mutex_) = 0;
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool down_ ABSL_GUARDED_BY(mutex_) = false;
};

// One owner; Run may be left at any moment by the end of the server.
class Load {
 public:
  virtual ~Load() = default;
  virtual const OpenRequest& open() const = 0;
  // Sends again what was on its way when the server ended.
  virtual absl::Status CatchUp(ParameterServerApi* server) = 0;
  // Everything that was acknowledged is there, once; nothing else is. UNAVAILABLE: the server ended during it.
  virtual absl::Status Verify(ParameterServerApi* server) = 0;
  // Until the phase is over or the server is down. REQUIRES: CatchUp was answered by OK.
  virtual void Run(ParameterServerApi* server, Phase* phase) = 0;
  virtual uint64_t acknowledged() const = 0;
};

}  // namespace tessera
