// Predictions for the rows of an input, in file order: what evaluation, `tessera evaluate` and `tessera predict` share.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/clock.h"
#include "common/parameter_server_api.h"
#include "common/thread_pool.h"
#include "proto/plan.pb.h"
#include "worker/batch/rare_rows.h"
#include "worker/client/parameter_client.h"
#include "worker/compute/backend.h"
#include "worker/data/input.h"
#include "worker/model/model.h"

namespace tessera {

// Rows scored together: enough to keep all cores busy, few enough to stay small beside a training batch.
inline constexpr size_t kScoredRowsDefault = 8192;

// A run of rows of one block with their predictions; views that live through the sink's call.
struct ScoredRows {
  uint64_t block;
  const Rows& rows;                   // of a whole batch
  size_t begin;                       // this run is rows [begin, begin + logits.size())
  absl::Span<const float> logits;

  absl::Span<const float> labels() const { return absl::MakeConstSpan(rows.labels).subspan(begin, logits.size()); }
};

// Owned by one thread. A row's logit is the same, to the bit, at any number of threads, servers, rows of a batch and rows of an input.
class Scorer {
 public:
  // The peer that pulls: ParameterClient::Options. At most `batch_rows` >= 1 rows are scored together. `pool`, `servers` and `clock` outlive the scorer; `plan` is copied.
  static absl::StatusOr<std::unique_ptr<Scorer>> Create(const Plan& plan, std::vector<ParameterServerApi*> servers,
                                                        const ParameterClient::Options& peer, ThreadPool* pool, Clock* clock,
                                                        size_t batch_rows = kScoredRowsDefault);

  // Which version of the values: sync: step t + 1 with d(t). The default takes what the servers have.
  struct Version {
    uint64_t step = 0;
    const Decision* decision = nullptr;
  };
  // Scores the given blocks in the given order, those rows alone that `wanted` names by their key (null: all), and gives them to `sink`
  // run by run. Blocks are read ahead by threads of their own. Stops at the first error, that of `sink` included. A logit that is not
  // finite is an error that names file and line.
  absl::Status Score(Input* input, std::vector<uint64_t> blocks, std::function<bool(uint64_t)> wanted, const Version& version,
                     absl::FunctionRef<absl::Status(const ScoredRows&)> sink);

 private:
  Scorer(const Plan& plan, size_t batch_rows) : plan_(plan), rare_ids_(RareIds(plan)), batch_rows_(batch_rows) {}
  struct Run {
    uint64_t block;
    size_t end;  // row of the batch after its last one
  };
  absl::Status ScoreBatch(Rows rows, absl::Span<const Run> runs, Input* input, const Version& version,
                          absl::FunctionRef<absl::Status(const ScoredRows&)> sink);

  const Plan plan_;
  const std::vector<uint64_t> rare_ids_;
  const size_t batch_rows_;
  int reader_threads_ = 1;
  const std::atomic<bool>* stopping_ = nullptr;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<CtrModel> model_;
  std::unique_ptr<ParameterClient> client_;
  PulledValues values_;
  std::vector<float> logits_;
};

}  // namespace tessera
