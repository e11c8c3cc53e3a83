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
      return absl::FailedPreconditionError(absl::StrCat("wrong peer: ", name, ": generation ", entry.generation(), " of this worker has pushed since"));
    }
    if (peer.generation() == entry.generation()) {
      if (entry.fenced()) return absl::FailedPreconditionError(absl::StrCat("wrong peer: ", name, ": this generation was given up; join again"));
      applied = entry.sequence();
      if (sequence <= applied && sequence > 0) return Verdict{true, entry.lsn(), entry.staleness()};
    }
  }
  // A worker sends the next push after all servers have acknowledged the last one.
  if (sequence > applied + 1) {
    return absl::DataLossError(absl::StrCat("state lost: ", name, ": push ", applied + 1, " comes next here, and those between were acknowledged"));
  }
  if (sequence != applied + 1) {
    return absl::FailedPreconditionError(absl::StrCat(name, ": push ", applied + 1, " comes next"));
  }
  return Verdict();
}

LedgerEntry& PushLedger::Renewed(uint32_t worker, uint64_t generation) {
  LedgerEntry& entry = entries_[worker];
  if (entry.generation() != generation) {
    const uint64_t batches = entry.past_batches() + entry.batches();
    entry.Clear();
    entry.set_past_batches(batches);
  }
  entry.set_worker(worker);
  entry.set_generation(generation);
  return entry;
}

void PushLedger::Record(const LoggedHeader& push, uint64_t lsn) {
  LedgerEntry& entry = Renewed(push.worker(), push.generation());
  entry.set_sequence(push.sequence());
  entry.set_lsn(lsn);
  entry.set_begun_task(push.task_done().task());
  entry.set_begun_row(push.task_done().end_row());
  entry.set_staleness(push.staleness());
  if (!push.last_part()) return;
  *entry.mutable_done() = push.task_done();
  entry.set_batches(entry.batches() + 1);
}

absl::StatusOr<std::optional<LedgerEntry>> PushLedger::Find(uint32_t worker, uint64_t generation) const {
  const auto found = entries_.find(worker);
  if (found == entries_.end() || found->second.generation() < generation) return std::nullopt;
  if (found->second.generation() == generation) return found->second;
  return absl::FailedPreconditionError(absl::StrCat("wrong peer: worker ", worker, " generation ", generation, ": generation ",
                                                    found->second.generation(), " of it has pushed since"));
}

void PushLedger::Fence(uint32_t worker, uint64_t generation, uint64_t lsn) {
  LedgerEntry& entry = Renewed(worker, generation);
  entry.set_lsn(lsn);
  entry.set_fenced(true);
}

uint64_t PushLedger::batches() const {
  uint64_t batches = 0;
  for (const auto& [worker, entry] : entries_) batches += entry.past_batches() + entry.batches();
  return batches;
}

void PushLedger::Describe(SaveReply* reply) const {
  for (const auto& [worker, entry] : entries_) {
    PushedBatches* const pushed = reply->add_pushed();
    pushed->set_worker(worker);
    pushed->set_generation(entry.generation());
    pushed->set_batches(entry.batches());
    pushed->set_past_batches(entry.past_batches());
  }
}

void PushLedger::Save(ShardRecord* record) const {
  for (const auto& [worker, entry] : entries_) *record->add_ledger() = entry;
}

void PushLedger::Load(const ShardRecord& record) {
  entries_.clear();
  for (const LedgerEntry& entry : record.ledger()) entries_[entry.worker()] = entry;
}

}  // namespace tessera
