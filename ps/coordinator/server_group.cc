#include "ps/coordinator/server_group.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/partition.h"
#include "common/retry.h"
#include "common/sightings.h"
#include "common/status_macros.h"
#include "ps/checkpoint/checkpoint_store.h"

namespace tessera {
namespace {

absl::Status CheckStep(uint64_t step, std::optional<uint64_t> wanted) {
  if (!wanted.has_value() || step == *wanted) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("state lost: it is at step ", step, ", not at step ", *wanted));
}

// At most so many ids has one step over all servers; 0 where rows have any number of feature values. Whoever computes a part of the step
// asks for the rare row of each field as well.
uint64_t StepIds(const Plan& plan) {
  if (plan.schema().format() == libsvm) return 0;
  const Training& training = plan.job().training();
  const uint64_t rare_rows = plan.job().admission().sightings() > 1 ? std::max({1u, training.shares(), training.workers()}) : 0;
  return (training.batch_size() + rare_rows) * static_cast<uint64_t>(plan.schema().fields_size());
}

}  // namespace

ServerGroup::ServerGroup(std::string job, std::vector<ParameterServerApi*> servers, std::vector<std::string> addresses, Clock* clock,
                         Calls calls)
    : job_(std::move(job)), servers_(std::move(servers)), addresses_(std::move(addresses)), clock_(clock), calls_(calls) {}

Peer ServerGroup::PeerOf(uint32_t shard) const {
  Peer peer;
  peer.set_job(job_);
  peer.set_incarnation(incarnation_);
  peer.set_map_version(kMapVersion);
  peer.set_shard(shard);
  peer.set_shards(static_cast<uint32_t>(servers_.size()));
  return peer;
}

absl::Status ServerGroup::OnAll(const std::string& what, const std::function<absl::Status(uint32_t)>& call) {
  std::vector<absl::Status> results(servers_.size());
  std::vector<std::thread> threads;
  for (uint32_t shard = 1; shard < servers_.size(); ++shard) {
    if (calls_ == Calls::kSideBySide) threads.emplace_back([&results, &call, shard] { results[shard] = call(shard); });
  }
  for (uint32_t shard = 0; shard < (calls_ == Calls::kSideBySide ? 1 : servers_.size()); ++shard) results[shard] = call(shard);
  for (std::thread& thread : threads) thread.join();
  for (size_t shard = 0; shard < results.size(); ++shard) {
    const absl::Status& status = results[shard];
    if (status.ok()) continue;
    const std::string address = shard < addresses_.size() ? addresses_[shard] : "";
    const bool named = address.empty() || absl::StrContains(status.message(), address);
    const std::string where = named ? "" : absl::StrCat(" (", address, ")");
    return absl::Status(status.code(), absl::StrCat(what, ": server ", shard, where, ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status ServerGroup::Call(uint32_t shard, absl::Duration patience, const std::function<bool()>& cancelled,
                               absl::FunctionRef<absl::Status()> attempt) {
  const absl::Status status = Retry(clock_, patience, cancelled).Run(attempt);
  if (!IsAway(status)) return status;
  return absl::Status(status.code(), absl::StrCat(status.message(), "; is shard ", shard, " running? (training.patience)"));
}

absl::Status ServerGroup::Open(const Plan& plan, uint64_t incarnation, const std::string& restore_from, const std::string& sightings,
                               std::optional<uint64_t> step, absl::Duration patience, const std::function<bool()>& cancelled) {
  const bool counted = !sightings.empty() && restore_from.empty();
  const size_t bytes = Sightings::BytesPerPartition(plan.job().admission().memory().bytes());
  if (counted && sightings.size() != kPartitions * bytes) {
    return absl::InvalidArgumentError(absl::StrCat("survey: ", sightings.size(), " bytes of sightings, ", kPartitions * bytes,
                                                   " are wanted (admission.memory): do worker and server run the same version?"));
  }
  incarnation_ = incarnation;
  const uint32_t shards = static_cast<uint32_t>(servers_.size());
  return OnAll("open", [&](uint32_t shard) {
    OpenRequest request;
    *request.mutable_peer() = PeerOf(shard);
    request.set_seed(plan.job().seed());
    *request.mutable_table() = plan.table();
    *request.mutable_variables() = plan.variables();
    request.set_restore_from(restore_from);
    if (plan.job().has_storage()) *request.mutable_storage() = plan.job().storage();
    if (plan.job().has_admission()) *request.mutable_admission() = plan.job().admission();
    if (plan.job().has_eviction()) *request.mutable_eviction() = plan.job().eviction();
    request.set_step_ids(StepIds(plan));
    const size_t begin = PartitionBegin(shard, shards) * bytes, end = PartitionBegin(shard + 1, shards) * bytes;
    if (counted) request.set_sightings(sightings.substr(begin, end - begin));
    OpenReply reply;
    TESSERA_RETURN_IF_ERROR(Call(shard, patience, cancelled, [&] { return servers_[shard]->Open(request, &reply); }));
    return CheckStep(reply.step(), step);
  });
}

absl::Status ServerGroup::Return(uint64_t incarnation, const Decision& decision, absl::Duration patience,
                                 const std::function<bool()>& cancelled) {
  incarnation_ = incarnation;
  const bool sync = decision.assignment_size() > 0;
  TESSERA_RETURN_IF_ERROR(OnAll("return", [&](uint32_t shard) {
    DescribeServerRequest request;
    *request.mutable_peer() = PeerOf(shard);
    DescribeServerReply reply;
    TESSERA_RETURN_IF_ERROR(Call(shard, patience, cancelled, [&] { return servers_[shard]->DescribeServer(request, &reply); }));
    if (reply.incarnation() != incarnation) {
      return absl::DataLossError(absl::StrCat("state lost: it is open in incarnation ", reply.incarnation(), ", not in ", incarnation));
    }
    if (!sync || reply.step() == decision.step() || reply.step() + 1 == decision.step()) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("state lost: it is at step ", reply.step(), ", the last decision is of step ", decision.step()));
  }));
  return decision.cut() || decision.evaluate() || decision.stop() ? Commit(decision, patience, cancelled) : absl::OkStatus();
}

absl::Status ServerGroup::Commit(const Decision& decision, absl::Duration patience, const std::function<bool()>& cancelled) {
  return OnAll(absl::StrCat("commit of step ", decision.step()), [&](uint32_t shard) {
    CommitRequest request;
    *request.mutable_peer() = PeerOf(shard);
    *request.mutable_decision() = decision;
    CommitReply reply;
    TESSERA_RETURN_IF_ERROR(Call(shard, patience, cancelled, [&] { return servers_[shard]->Commit(request, &reply); }));
    return CheckStep(reply.step(), decision.step());
  });
}

absl::StatusOr<std::vector<FenceReply>> ServerGroup::Fence(uint32_t worker, uint64_t generation, absl::Duration patience,
                                                           const std::function<bool()>& cancelled) {
  std::vector<FenceReply> replies(servers_.size());
  TESSERA_RETURN_IF_ERROR(OnAll(absl::StrCat("fence of worker ", worker), [&](uint32_t shard) {
    FenceRequest request;
    *request.mutable_peer() = PeerOf(shard);
    request.mutable_peer()->set_worker(worker);
    request.mutable_peer()->set_generation(generation);
    return Call(shard, patience, cancelled, [&] { return servers_[shard]->Fence(request, &replies[shard]); });
  }));
  return replies;
}

absl::Status ServerGroup::Save(const std::string& folder, std::optional<uint64_t> step, absl::Duration patience,
                               const std::function<bool()>& cancelled, Checkpoint* manifest, std::vector<SaveReply>* replies) {
  const uint32_t shards = static_cast<uint32_t>(servers_.size());
  replies->assign(shards, SaveReply());
  TESSERA_RETURN_IF_ERROR(OnAll("save", [&](uint32_t shard) {
    SaveRequest request;
    *request.mutable_peer() = PeerOf(shard);
    request.set_directory(absl::StrCat(folder, "/", ShardFolder(shard, shards)));
    TESSERA_RETURN_IF_ERROR(Call(shard, patience, cancelled, [&] { return servers_[shard]->Save(request, &(*replies)[shard]); }));
    return CheckStep((*replies)[shard].step(), step);
  }));
  uint64_t digest = 0;
  manifest->set_shards(shards);
  for (const SaveReply& reply : *replies) {
    manifest->set_rows(manifest->rows() + reply.rows());
    manifest->mutable_files()->MergeFrom(reply.files());
    digest += reply.content_digest();
  }
  manifest->set_content_digest(absl::StrFormat("%016x", digest));
  return absl::OkStatus();
}

}  // namespace tessera
