#include "tests/integration/load.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

// A full server says so after a while, since it may have room later; this often in a row it never will.
constexpr int kFullMax = 6;
// Waits for acknowledgements end after this even without any.
constexpr absl::Duration kPhaseMax = absl::Minutes(5);

}  // namespace

void Broken(absl::string_view what) {
  std::fprintf(stderr, "push_load: BROKEN: %s\n", std::string(what).c_str());
  std::fflush(stdout);
  std::_Exit(1);
}

absl::Status OkOrDown(absl::string_view what, absl::Status status) {
  if (status.ok() || absl::IsUnavailable(status)) return status;
  if (absl::IsCancelled(status)) return absl::UnavailableError(status.message());  // by a server that stops
  Broken(absl::StrCat(what, ": ", status.ToString()));
}

absl::Status Send(absl::string_view what, const std::function<absl::Status()>& call) {
  for (int full = 0;; ++full) {
    const absl::Status status = call();
    if (!absl::IsResourceExhausted(status) || !absl::StrContains(status.message(), "full: ") || full == kFullMax) {
      return OkOrDown(what, status);
    }
  }
}

void Phase::Acknowledged() {
  MutexLock lock(&mutex_);
  over_ |= ++acks_ >= acks_max_;
  changed_.SignalAll();
}

void Phase::Down() {
  MutexLock lock(&mutex_);
  down_ = over_ = true;
  changed_.SignalAll();
}

bool Phase::over() const {
  MutexLock lock(&mutex_);
  return over_;
}

bool Phase::down() const {
  MutexLock lock(&mutex_);
  return down_;
}

void Phase::WaitFor(uint64_t acks) {
  MutexLock lock(&mutex_);
  while (!over_ && acks_ < acks) {
    const uint64_t before = acks_;
    if (changed_.WaitWithTimeout(&mutex_, kPhaseMax) && acks_ == before && !over_) Broken("no acknowledgement for minutes");
  }
}

}  // namespace tessera
