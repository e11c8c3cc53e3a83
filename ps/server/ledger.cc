#include "ps/server/ledger.h"

#include <cassert>

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<PushLedger::Verdict> PushLedger::Begin(const Peer& peer, uint64_t sequence) {
  const std::string name = absl::StrCat("push ", sequence, " of worker ", peer.worker(), " generation ", peer.generation());
  MutexLock lock(&mutex_);
  Entry& entry = entries_[peer.worker()];
  if (peer.generation() < entry.generation) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": generation ", entry.generation, " of this worker has pushed since"));
  }
  // While a push of the older generation is being applied its entry must stay.
  if (peer.generation() > entry.generation && !entry.applying) entry = {peer.generation(), 0, false};
  if (entry.applying) return absl::UnavailableError(absl::StrCat(name, ": push ", entry.applied + 1, " of this worker is being applied"));
  if (sequence <= entry.applied && sequence > 0) return Verdict::kRepeat;
  if (sequence != entry.applied + 1) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": push ", entry.applied + 1, " comes next; one between was never received"));
  }
  entry.applying = true;
  return Verdict::kApply;
}

void PushLedger::Finish(const Peer& peer, [[maybe_unused]] uint64_t sequence) {
  MutexLock lock(&mutex_);
  Entry& entry = entries_[peer.worker()];
  assert(entry.applying && entry.generation == peer.generation() && sequence == entry.applied + 1);
  ++entry.applied;
  entry.applying = false;
}

void PushLedger::Clear() {
  MutexLock lock(&mutex_);
  entries_.clear();
}

}  // namespace tessera
