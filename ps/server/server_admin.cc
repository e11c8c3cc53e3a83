// The calls of the coordinator and of people: open, save, describe, look at rows, evict.
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/packed.h"
#include "common/partition.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "ps/checkpoint/durable_file.h"
#include "ps/server/gradients.h"
#include "ps/server/peer_check.h"
#include "ps/server/saved_record.h"
#include "ps/server/server_impl.h"

namespace tessera {
namespace {

// Rows are shown to people, a few at a time.
constexpr size_t kShownRowsMax = 1024;

}  // namespace

std::string Server::Impl::Folder() const {
  const std::string& directory = options_.state_directory;
  return directory.empty() ? "" : absl::StrCat(directory, "/", ShardFolder(own_.shard(), own_.shards()));
}

absl::Status Server::Impl::RecoverHere() {
  if (Folder().empty()) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<ShardState>> state = ShardState::Recover(Folder(), pool_);
  if (absl::IsNotFound(state.status())) return absl::OkStatus();
  if (absl::IsDataLoss(state.status())) {
    return absl::DataLossError(absl::StrCat(state.status().message(), ". Remove ", Folder(), " to go back to the last checkpoint"));
  }
  TESSERA_RETURN_IF_ERROR(state.status());
  const Peer& kept = (*state)->opened().peer();
  if (own_.job().empty()) own_.set_job(kept.job());
  if (kept.job() != own_.job()) {
    return absl::FailedPreconditionError(absl::StrCat(Folder(), " holds the state of job ", kept.job(), ", not of ", own_.job(),
                                                      "; give this job another storage.directory, or remove that one's"));
  }
  TESSERA_RETURN_IF_ERROR(CheckShard(kept, own_));
  state_ = *std::move(state);
  own_.set_incarnation(state_->opened().peer().incarnation());
  own_.set_map_version(state_->opened().peer().map_version());
  DescribeServerReply described;
  state_->Describe(&described);
  const DurabilityStatus& durability = described.durability();
  LogInfo(absl::StrCat("shard ", own_.shard(), " of ", own_.shards(), " is at step ", state_->step(), " again, incarnation ",
                       own_.incarnation(), ": ", described.table().rows(), " rows, ", durability.replayed_records(), " records of ",
                       durability.replayed_bytes() >> 20, " MiB replayed in ", durability.replay_seconds(), " s"));
  return absl::OkStatus();
}

absl::Status Server::Impl::OpenHere(const OpenRequest& request, OpenReply* reply) {
  TESSERA_RETURN_IF_ERROR(CheckShard(request.peer(), own_));
  const uint64_t incarnation = request.peer().incarnation();
  if (state_ != nullptr && incarnation <= own_.incarnation()) {
    // A repeat of the call that opened it, its answer lost, must not throw away what has been trained since.
    const bool repeat = incarnation == own_.incarnation() && state_->IsRepeat(request);
    if (!repeat || pushes_ > 0) {
      return absl::FailedPreconditionError(absl::StrCat("wrong peer: this server is open in incarnation ", own_.incarnation(), " at step ",
                                                        state_->step(), "; it opens again only in a later one, not in ", incarnation));
    }
  } else {
    state_.reset();
    TESSERA_ASSIGN_OR_RETURN(state_, ShardState::Make(request, Folder(), pool_));
    own_.set_incarnation(incarnation);
    own_.set_map_version(request.peer().map_version());
    pulls_ = 0;
    pushes_ = 0;
    refused_gradients_ = 0;
  }
  reply->set_step(state_->step());
  reply->set_rows(state_->CountRows());
  return absl::OkStatus();
}

absl::Status Server::Impl::SaveHere(const SaveRequest& request, SaveReply* reply) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  // What is in the folder is removed, so it must be one that holds nothing else.
  if (!IsUnfinishedShard(request.directory(), own_.shard(), own_.shards())) {
    return absl::InvalidArgumentError(absl::StrCat("save: the directory must be the absolute path of ",
                                                   ShardFolder(own_.shard(), own_.shards()), " in an unfinished checkpoint, is '",
                                                   request.directory(), "'"));
  }
  const std::string unfinished = request.directory().substr(0, request.directory().rfind('/'));
  if (!FileExists(unfinished)) {
    return absl::NotFoundError(absl::StrCat("save: there is no folder ", unfinished, ": the checkpoint was finished or given up before this call came, or "
                                            "coordinator and servers do not see the same disk"));
  }
  SavedRecord record;
  record.set_incarnation(own_.incarnation());
  record.set_lsn(state_->lsn());
  if (std::optional<SavedRecord> saved = ReadSaved(request.directory()); saved.has_value() && saved->incarnation() == record.incarnation()) {
    if (saved->lsn() > record.lsn()) {
      return absl::DataLossError(absl::StrCat("state lost: this server has saved record ", saved->lsn(), " already, and is at record ", record.lsn(), " now"));
    }
    if (saved->lsn() == record.lsn()) {
      reply->Swap(saved->mutable_reply());
      return absl::OkStatus();
    }
  }
  RemoveSaved(request.directory());
  TESSERA_ASSIGN_OR_RETURN(std::vector<SavedFile> files, state_->Save(request.directory()));
  reply->set_step(state_->step());
  reply->set_rows(state_->CountRows());
  reply->set_content_digest(state_->ContentDigest());
  state_->DescribePushed(reply);
  for (SavedFile& file : files) *reply->add_files() = std::move(file);
  *record.mutable_reply() = *reply;
  return WriteSaved(request.directory(), record);
}

absl::Status Server::Impl::DescribeHere(const DescribeServerRequest& request, DescribeServerReply* reply) {
  // Whoever asks wants to learn the incarnation, so it need not know it.
  if (!request.peer().job().empty()) TESSERA_RETURN_IF_ERROR(CheckShard(request.peer(), own_));
  reply->set_job(own_.job());
  reply->set_incarnation(own_.incarnation());
  reply->set_shard(own_.shard());
  reply->set_shards(own_.shards());
  reply->set_pulls(pulls_);
  reply->set_pushes(pushes_);
  reply->set_refused_gradients(refused_gradients_);
  if (state_ == nullptr) return absl::OkStatus();
  if (request.verify()) TESSERA_RETURN_IF_ERROR(state_->Verify());
  reply->set_step(state_->step());
  state_->Describe(reply);
  return absl::OkStatus();
}

absl::Status Server::Impl::GetRowsHere(const GetRowsRequest& request, GetRowsReply* reply) {
  if (!request.peer().job().empty()) TESSERA_RETURN_IF_ERROR(CheckShard(request.peer(), own_));
  if (state_ == nullptr) return CheckOpen(request.peer().job().empty() ? own_ : request.peer());
  TESSERA_ASSIGN_OR_RETURN(const absl::Span<const uint64_t> ids, PackedView<uint64_t>(request.ids(), "ids"));
  if (ids.size() > kShownRowsMax) {
    return absl::InvalidArgumentError(absl::StrCat(ids.size(), " ids asked for; at most ", kShownRowsMax, " at a time"));
  }
  const uint32_t dim = state_->rows().layout().dim();
  for (uint64_t id : ids) {
    StoredRow* const stored = reply->add_rows();
    stored->set_id(id);
    stored->set_partition(PartitionOf(id));
    if (ShardOf(PartitionOf(id), own_.shards()) != own_.shard()) continue;
    TESSERA_ASSIGN_OR_RETURN(const FoundRow row, state_->rows().Get(id));
    stored->set_sightings(row.sightings);
    stored->set_found(row.found);
    if (!row.found) continue;
    stored->set_in_memory(row.in_memory);
    stored->set_lsn(row.header.lsn);
    stored->set_last_step(row.header.last_step);
    stored->set_period(row.header.period);
    stored->set_show(row.header.show);
    stored->set_click(row.header.click);
    stored->mutable_values()->Add(row.floats.begin(), row.floats.begin() + dim);
    stored->mutable_state()->Add(row.floats.begin() + dim, row.floats.end());
  }
  return absl::OkStatus();
}

absl::Status Server::Impl::EvictHere(const EvictRequest& request, EvictReply* reply) {
  TESSERA_RETURN_IF_ERROR(CheckOpen(request.peer()));
  const GradientShape& shape = state_->shape();
  if (request.partition() < shape.first_partition || request.partition() >= shape.last_partition) return absl::OkStatus();
  Eviction rule = request.has_rule() ? request.rule() : state_->opened().eviction();
  rule.mutable_protect()->MergeFrom(state_->opened().eviction().protect());  // whoever asks
  TESSERA_ASSIGN_OR_RETURN(const std::vector<uint64_t> ids, state_->Evict(rule, request.partition(), request.dry_run()));
  AppendPacked(absl::MakeConstSpan(ids), reply->mutable_ids());
  return absl::OkStatus();
}

}  // namespace tessera
