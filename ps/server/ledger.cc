#include "ps/server/ledger.h"

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<PushLedger::Verdict> PushLedger::Check(const Peer& peer, uint64_t sequence) const {
  const std::string name = absl::StrCat("push ", sequence, " of worker ", peer.worker(), " generation ", peer.generation());
  const auto found = entries_.find(peer.worker());
  uint64_t applied = 0;
  if (found != entries_.end()) {
    const LedgerEntry& entry = found->second;
    if (peer.generation() < entry.generation()) {
      return absl::FailedPreconditionError(absl::StrCat(name, ": generation ", entry.generation(), " of this worker has pushed since"));
    }
    if (peer.generation() == entry.generation()) {
      applied = entry.sequence();
      if (sequence <= applied && sequence > 0) return Verdict{true, entry.lsn()};
    }
  }
  if (sequence != applied + 1) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": push ", applied + 1, " comes next; one between was never received"));
  }
  return Verdict();
}

void PushLedger::Record(uint32_t worker, uint64_t generation, uint64_t sequence, uint64_t lsn) {
  LedgerEntry& entry = entries_[worker];
  entry.set_worker(worker);
  entry.set_generation(generation);
  entry.set_sequence(sequence);
  entry.set_lsn(lsn);
}

void PushLedger::Save(ShardRecord* record) const {
  for (const auto& [worker, entry] : entries_) *record->add_ledger() = entry;
}

void PushLedger::Load(const ShardRecord& record) {
  entries_.clear();
  for (const LedgerEntry& entry : record.ledger()) entries_[entry.worker()] = entry;
}

}  // namespace tessera
