// Everything at once on one server: workers push side by side while others pull, give hints, look, evict and save, with memory far below
// the table. A second server in this process, with neither a log nor a budget, gets the same pushes in the order of their log records; when
// all is still both must say the same, bit by bit.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/thread_pool.h"
#include "ps/server/server.h"
#include "tests/integration/latency.h"
#include "tests/integration/load.h"
#include "tests/integration/push_world.h"

namespace tessera {

struct SoakOptions {
  std::string folder;  // an empty one: for the second server and what is saved
  Durability durability = Durability::process;
  uint64_t ids = 60000;  // the table is kept at half of them
  uint64_t memory_bytes = 2u << 20;  // storage.memory_per_server
  uint32_t workers = 3;
  uint64_t pushes_per_round = 60;  // of each worker; the more, the further they may drift apart
  uint64_t seed = 1;
};

struct SoakFigures {
  uint64_t rounds = 0;
  uint64_t pushes = 0;
  uint64_t pulls = 0;
  uint64_t saves = 0;
  Latency pull_latency;
};

// What cannot fail: it would be a bug of the soak or of the server.
inline void Must(absl::string_view what, const absl::Status& status) {
  if (!status.ok()) Broken(absl::StrCat(what, ": ", status.ToString()));
}
inline std::string CountsOf(const TableStatus& table) {
  return absl::StrCat(table.rows(), " rows, ", table.inserted(), " inserted, ", table.evicted(), " evicted, ", table.refused(), " refused");
}

// One owner. What is wrong is Broken, what is down UNAVAILABLE.
class SoakLoad {
 public:
  explicit SoakLoad(const SoakOptions& options);

  const OpenRequest& open() const { return open_; }
  // A round of load, then a comparison.
  absl::Status Round(ParameterServerApi* server);
  // Every value, every count. REQUIRES: no round is under way.
  absl::Status Verify(ParameterServerApi* server);
  // Broken where the load did not do what it is for.
  absl::Status CheckWasWorthIt(ParameterServerApi* server) const;
  SoakFigures figures();

 private:
  struct Worker {
    uint32_t number;
    uint64_t marker;  // an id that is in all its pushes and in nobody else's: its row tells the record of the last one
    RandomSequence random;
    uint64_t sequence = 0;
    uint64_t lsn = 0;
    PushRequest last;
  };
  struct Logged {
    uint64_t lsn;
    PushRequest push;
  };

  PushRequest MakePush(Worker* worker);
  // Each on a thread of its own.
  absl::Status RunWorker(ParameterServerApi* server, Worker* worker, Phase* phase);
  absl::Status RunReader(ParameterServerApi* server, uint64_t key, Phase* phase);
  absl::Status RunSaver(ParameterServerApi* server, uint64_t key, Phase* phase);
  absl::Status PushOnce(ParameterServerApi* server, Worker* worker);
  absl::Status Save(ParameterServerApi* server, const std::string& name, SaveReply* reply) const;
  // Restored by another server the checkpoint must hold what was saved.
  void CheckSaved(const SaveReply& saved);
  void ApplyToReference();
  absl::Status EvictOnBoth(ParameterServerApi* server);
  absl::Status CompareValues(ParameterServerApi* server, bool evaluation, uint64_t* rows);
  absl::Status CompareCounts(ParameterServerApi* server, uint64_t rows) const;
  absl::Status CompareSaved(ParameterServerApi* server) const;

  const SoakOptions options_;
  const PushWorld world_;
  OpenRequest open_;
  std::vector<uint64_t> ids_;  // those of the world and the markers, ascending
  ThreadPool pool_{1};
  std::unique_ptr<Server> reference_;
  std::unique_ptr<Server> other_shard_;  // saves its part of a checkpoint
  uint64_t other_sequence_ = 0;
  std::vector<Worker> workers_;
  RandomSequence random_;
  uint32_t period_ = 1;
  uint64_t applied_lsn_ = 0;  // by the reference
  std::atomic<uint64_t> step_{0};

  Mutex mutex_;  // what the threads of a round bring together
  std::vector<Logged> logged_ ABSL_GUARDED_BY(mutex_);
  SoakFigures figures_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace tessera
