#include "ps/coordinator/server_group.h"

#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/retry.h"
#include "common/status_macros.h"
#include "ps/checkpoint/checkpoint_store.h"

namespace tessera {
namespace {

absl::Status CheckStep(uint64_t step, std::optional<uint64_t> wanted) {
  if (!wanted.has_value() || step == *wanted) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("state lost: it is at step ", step, ", not at step ", *wanted));
}

}  // namespace

ServerGroup::ServerGroup(std::string job, std::vector<ParameterServerApi*> servers, std::vector<std::string> addresses, Clock* clock)
    : job_(std::move(job)), servers_(std::move(servers)), addresses_(std::move(addresses)), clock_(clock) {}

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
    threads.emplace_back([&results, &call, shard] { results[shard] = call(shard); });
  }
  results[0] = call(0);
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

absl::Status ServerGroup::Open(const Plan& plan, uint64_t incarnation, const std::string& restore_from, std::optional<uint64_t> step,
                               absl::Duration patience, const std::function<bool()>& cancelled) {
  incarnation_ = incarnation;
  return OnAll("open", [&](uint32_t shard) {
    OpenRequest request;
    *request.mutable_peer() = PeerOf(shard);
    request.set_seed(plan.job().seed());
    *request.mutable_table() = plan.table();
    *request.mutable_variables() = plan.variables();
    request.set_restore_from(restore_from);
    OpenReply reply;
    TESSERA_RETURN_IF_ERROR(Call(shard, patience, cancelled, [&] { return servers_[shard]->Open(request, &reply); }));
    return CheckStep(reply.step(), step);
  });
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

absl::Status ServerGroup::Save(const std::string& folder, std::optional<uint64_t> step, absl::Duration patience,
                               const std::function<bool()>& cancelled, Checkpoint* manifest) {
  const uint32_t shards = static_cast<uint32_t>(servers_.size());
  std::vector<SaveReply> replies(shards);
  TESSERA_RETURN_IF_ERROR(OnAll("save", [&](uint32_t shard) {
    SaveRequest request;
    *request.mutable_peer() = PeerOf(shard);
    request.set_directory(absl::StrCat(folder, "/", ShardFolder(shard, shards)));
    TESSERA_RETURN_IF_ERROR(Call(shard, patience, cancelled, [&] { return servers_[shard]->Save(request, &replies[shard]); }));
    return CheckStep(replies[shard].step(), step);
  }));
  uint64_t digest = 0;
  manifest->set_shards(shards);
  for (const SaveReply& reply : replies) {
    manifest->set_rows(manifest->rows() + reply.rows());
    manifest->mutable_files()->MergeFrom(reply.files());
    digest += reply.content_digest();
  }
  manifest->set_content_digest(absl::StrFormat("%016x", digest));
  return absl::OkStatus();
}

}  // namespace tessera
