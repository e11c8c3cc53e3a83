// Which pushes have been applied: the last sequence number of each worker. Makes a push that is sent twice count once.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/mutex.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

// Only the next sequence of a worker's generation is accepted; sequences count from 1 in each generation, and a newer generation ends
// the older ones. Thread-safe.
class PushLedger {
 public:
  enum class Verdict {
    kApply,   // the caller applies it and then calls Finish
    kRepeat,  // has been applied: acknowledge
  };
  // FAILED_PRECONDITION: a gap, or an older generation. UNAVAILABLE: this very push is being applied by another call.
  absl::StatusOr<Verdict> Begin(const Peer& peer, uint64_t sequence);
  // Makes a begun push count.
  void Finish(const Peer& peer, uint64_t sequence);
  // Everything is forgotten: a new incarnation.
  void Clear();

 private:
  struct Entry {
    uint64_t generation = 0;
    uint64_t applied = 0;
    bool applying = false;  // applied + 1
  };
  Mutex mutex_;
  absl::flat_hash_map<uint32_t, Entry> entries_ ABSL_GUARDED_BY(mutex_);  // by worker
};

}  // namespace tessera
