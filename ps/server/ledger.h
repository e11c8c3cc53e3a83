// Which pushes have been applied: the last sequence number of each worker, and how far its task is. Makes a push that is sent twice count once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "proto/shard.pb.h"

namespace tessera {

// Only the next sequence of a worker's generation is accepted; sequences count from 1 in each generation, and a newer generation ends
// the older ones, so there is one entry per worker; a generation that is fenced has ended too. It decides about arrivals only: replay consults the rows. Thread-compatible.
class PushLedger {
 public:
  struct Verdict {
    bool repeat = false;  // was applied before
    uint64_t lsn = 0;     // of a repeat: the record that must be durable before it is acknowledged
    uint64_t staleness = 0;  // of a repeat: as it was
  };
  // DATA_LOSS: a gap, so acknowledged pushes are gone. FAILED_PRECONDITION: a generation that has ended.
  absl::StatusOr<Verdict> Check(const Peer& peer, uint64_t sequence) const;
  // The push is logged as `lsn`. REQUIRES: Check said that it is the next one; at replay, that it comes in the order of the log.
  void Record(const LoggedHeader& push, uint64_t lsn);

  // What the worker's generation has here. nullopt: nothing, and nothing of a later one. FAILED_PRECONDITION: a later one has pushed since.
  absl::StatusOr<std::optional<LedgerEntry>> Find(uint32_t worker, uint64_t generation) const;
  // Ends the generation; the record of it is logged as `lsn`. REQUIRES: Find gave no error.
  void Fence(uint32_t worker, uint64_t generation, uint64_t lsn);

  // Whole batches, of all workers, since the shard was opened.
  uint64_t batches() const;

  void Describe(SaveReply* reply) const;
  void Save(ShardRecord* record) const;
  void Load(const ShardRecord& record);

 private:
  // The worker's entry, emptied where it is of another generation.
  LedgerEntry& Renewed(uint32_t worker, uint64_t generation);

  absl::btree_map<uint32_t, LedgerEntry> entries_;  // by worker
};

}  // namespace tessera
