// A checkpoint brought back to life to score rows: a parameter server of this process with the model on top.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/thread_pool.h"
#include "proto/checkpoint.pb.h"
#include "ps/server/server.h"
#include "tools/temporary_folder.h"
#include "worker/data/input.h"
#include "worker/train/scoring.h"

namespace tessera {

// Owned by one thread. Reads the checkpoint, writes nothing beside a temporary folder.
class LoadedModel {
 public:
  // `name` as FindCheckpoint takes it; a name that leads nowhere is a usage error.
  static absl::StatusOr<std::unique_ptr<LoadedModel>> Load(const std::string& name, int threads, size_t batch_rows, Clock* clock);

  const Plan& plan() const { return manifest_.plan(); }
  const Checkpoint& manifest() const { return manifest_; }
  const std::string& folder() const { return folder_; }
  ParameterServerApi* server() { return server_.get(); }

  // Every row of `input` that `wanted` names by its key (null: all), in file order.
  absl::Status Score(Input* input, std::function<bool(uint64_t)> wanted, absl::FunctionRef<absl::Status(const ScoredRows&)> sink);

 private:
  LoadedModel(std::string folder, Checkpoint manifest, TemporaryFolder temporary, int threads);
  absl::Status Open(size_t batch_rows, Clock* clock);

  const std::string folder_;
  const Checkpoint manifest_;
  const TemporaryFolder temporary_;
  ThreadPool pool_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Scorer> scorer_;
};

// The files that `patterns` name (paths or globs; "-" is standard input, kept in an unlinked temporary file), as an input of `plan`'s
// schema. A file named twice is read twice. Errors are usage errors where a file is not there.
absl::StatusOr<std::unique_ptr<Input>> OpenFiles(const Plan& plan, const std::vector<std::string>& patterns, ReadOptions options);

}  // namespace tessera
