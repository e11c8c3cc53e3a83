#include "tools/loaded_model.h"

#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "tools/command_line.h"
#include "tools/standard_input.h"
#include "worker/data/files.h"

namespace tessera {

LoadedModel::LoadedModel(std::string folder, Checkpoint manifest, TemporaryFolder temporary, int threads)
    : folder_(std::move(folder)), manifest_(std::move(manifest)), temporary_(std::move(temporary)), pool_(threads) {}

absl::StatusOr<std::unique_ptr<LoadedModel>> LoadedModel::Load(const std::string& name, int threads, size_t batch_rows, Clock* clock) {
  absl::StatusOr<CheckpointStore::Entry> entry = FindCheckpoint(name);
  if (!entry.ok()) return UsageError(entry.status());
  TESSERA_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::Create());
  std::unique_ptr<LoadedModel> model(new LoadedModel(entry->folder, std::move(entry->manifest), std::move(temporary), threads));
  TESSERA_RETURN_IF_ERROR(model->Open(batch_rows, clock));
  return model;
}

absl::Status LoadedModel::Open(size_t batch_rows, Clock* clock) {
  server_ = std::make_unique<Server>(ServerOptions{.job = manifest_.job(), .shard = 0, .shards = 1, .state_directory = temporary_.path()},
                                     &pool_);
  OpenRequest request;
  request.mutable_peer()->set_job(manifest_.job());
  request.mutable_peer()->set_incarnation(manifest_.incarnation());
  request.mutable_peer()->set_map_version(1);
  request.mutable_peer()->set_shards(1);
  request.set_seed(plan().job().seed());
  *request.mutable_table() = plan().table();
  *request.mutable_variables() = plan().variables();
  request.set_restore_from(folder_);
  // A table larger than memory stays on disk for the most part.
  *request.mutable_storage()->mutable_memory_per_server() = plan().job().storage().memory_per_server();
  if (plan().job().has_admission()) *request.mutable_admission() = plan().job().admission();
  OpenReply reply;
  TESSERA_RETURN_IF_ERROR(server_->Open(request, &reply));
  ParameterClient::Options peer;
  peer.job = manifest_.job();
  peer.incarnation = manifest_.incarnation();
  peer.map_version = 1;
  TESSERA_ASSIGN_OR_RETURN(scorer_, Scorer::Create(plan(), {server_.get()}, peer, &pool_, clock, batch_rows));
  return absl::OkStatus();
}

absl::Status LoadedModel::Score(Input* input, std::function<bool(uint64_t)> wanted,
                                absl::FunctionRef<absl::Status(const ScoredRows&)> sink) {
  std::vector<uint64_t> blocks(input->block_count());
  std::iota(blocks.begin(), blocks.end(), 0);
  return NameStandardInput(scorer_->Score(input, std::move(blocks), std::move(wanted), Scorer::Version(), sink));
}

absl::StatusOr<std::unique_ptr<Input>> OpenFiles(const Plan& plan, const std::vector<std::string>& patterns, ReadOptions options) {
  std::vector<std::string> paths;
  for (const std::string& pattern : patterns) {
    absl::StatusOr<std::vector<std::string>> found;
    if (pattern == "-") {
      TESSERA_ASSIGN_OR_RETURN(std::string path, SpoolStandardInput());
      found = std::vector<std::string>{std::move(path)};
    } else {
      found = ExpandFiles({pattern}, {});
    }
    if (!found.ok()) return UsageError(found.status());
    paths.insert(paths.end(), found->begin(), found->end());
  }
  const auto files = DescribeFiles(paths);
  if (!files.ok()) return NameStandardInput(files.status());
  absl::StatusOr<std::unique_ptr<Input>> input = Input::Open(plan, *files, options);
  if (!input.ok()) return NameStandardInput(input.status());
  return input;
}

}  // namespace tessera
