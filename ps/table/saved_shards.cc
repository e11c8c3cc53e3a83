#include "ps/table/saved_shards.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

absl::Status InFolder(const absl::Status& status, const std::string& folder) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(folder, ": ", status.message()));
}

// "shard-1-of-3" -> 1, 3.
bool ParseShardFolder(const std::string& name, uint32_t* shard, uint32_t* shards) {
  int end = 0;
  return std::sscanf(name.c_str(), "shard-%u-of-%u%n", shard, shards, &end) == 2 && end == static_cast<int>(name.size());
}

// The folders in order of shard. All shards of one number must be there, and of no other.
absl::StatusOr<std::vector<std::string>> FindShardFolders(const std::string& folder) {
  std::vector<std::pair<uint32_t, std::string>> found;
  uint32_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    uint32_t shard = 0;
    uint32_t shards = 0;
    if (!ParseShardFolder(it->path().filename(), &shard, &shards)) continue;
    if (total == 0) total = shards;
    if (shards != total) {
      return absl::DataLossError(
          absl::StrCat(folder, ": holds shards of ", total, " servers and of ", shards, "; one checkpoint has one number"));
    }
    found.emplace_back(shard, it->path());
  }
  if (error) return absl::NotFoundError(absl::StrCat("cannot read the checkpoint ", folder, ": ", error.message()));
  if (found.empty()) return absl::NotFoundError(absl::StrCat(folder, ": no folder named shard-0-of-n in it, so it is no checkpoint"));
  std::sort(found.begin(), found.end());
  std::vector<std::string> folders;
  for (const auto& [shard, path] : found) {
    if (shard != folders.size()) break;
    folders.push_back(path);
  }
  if (folders.size() != total || found.size() != total) {
    return absl::DataLossError(absl::StrCat(folder, ": shard-", folders.size(), "-of-", total, " is missing"));
  }
  return folders;
}

absl::Status DescribeDifference(const TableSpec& saved, const TableSpec& wanted) {
  if (saved.SerializeAsString() == wanted.SerializeAsString()) return absl::OkStatus();
  if (RowDim(saved) != RowDim(wanted)) {
    return absl::InvalidArgumentError(absl::StrCat("rows of table ", saved.name(), " have ", RowDim(saved), " values, the job's table ",
                                                   wanted.name(), " has ", RowDim(wanted)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("table differs: saved {", saved.ShortDebugString(), "}, the job has {", wanted.ShortDebugString(), "}"));
}

}  // namespace

absl::StatusOr<SavedShards> SavedShards::Open(const std::string& folder) {
  SavedShards saved;
  TESSERA_ASSIGN_OR_RETURN(const std::vector<std::string> folders, FindShardFolders(folder));
  for (const std::string& path : folders) {
    Shard shard;
    shard.folder = path;
    TESSERA_ASSIGN_OR_RETURN(shard.state, StateDb::OpenForReading(path));
    TESSERA_ASSIGN_OR_RETURN(const std::string record, shard.state->Get(MetaKey()));
    TESSERA_RETURN_IF_ERROR(InFolder(DecodeRecord(record, &shard.record), path));
    const Peer& peer = shard.record.opened().peer();
    if (peer.shard() != saved.shards_.size() || peer.shards() != folders.size()) {
      return absl::DataLossError(absl::StrCat(path, ": was saved as shard ", peer.shard(), " of ", peer.shards()));
    }
    // Steps of sync; pushes of async that only some servers have are made again, with the step of their new time.
    if (!saved.shards_.empty() && shard.record.step() != saved.shards_[0].record.step()) {
      return absl::DataLossError(absl::StrCat(path, ": was saved at step ", shard.record.step(), ", ", saved.shards_[0].folder,
                                              " at step ", saved.shards_[0].record.step()));
    }
    saved.shards_.push_back(std::move(shard));
  }
  return saved;
}

uint64_t SavedShards::lsn() const {
  uint64_t lsn = 0;
  for (const Shard& shard : shards_) lsn = std::max<uint64_t>(lsn, shard.record.lsn());
  return lsn;
}

uint64_t SavedShards::step() const {
  uint64_t step = 0;
  for (const Shard& shard : shards_) step = std::max<uint64_t>({step, shard.record.step(), shard.record.pushed_step()});
  return step;
}

uint32_t SavedShards::period() const {
  uint32_t period = 0;
  for (const Shard& shard : shards_) period = std::max<uint32_t>(period, shard.record.period());
  return period;
}

RowAccounting SavedShards::AccountingOf(uint32_t shard, uint32_t shards) const {
  RowAccounting accounting;
  const uint32_t saved = static_cast<uint32_t>(shards_.size());
  for (uint32_t s = 0; s < saved; ++s) {
    if (ShardOf(PartitionBegin(s, saved), shards) != shard) continue;
    accounting.evicted += shards_[s].record.evicted();
    accounting.refused += shards_[s].record.refused();
  }
  return accounting;
}

absl::Status SavedShards::ReadSightings(uint32_t partition, absl::FunctionRef<absl::Status(absl::string_view)> body) const {
  const Shard& shard = ShardOfPartition(partition);
  const absl::StatusOr<std::string> value = shard.state->Get(KeyBound(RecordKind::kSightings, partition));
  if (absl::IsNotFound(value.status())) return absl::OkStatus();
  TESSERA_RETURN_IF_ERROR(value.status());
  const absl::StatusOr<absl::string_view> counters = DecodeSightings(partition, *value);
  TESSERA_RETURN_IF_ERROR(InFolder(counters.status(), shard.folder));
  return InFolder(body(*counters), shard.folder);
}

const SavedShards::Shard& SavedShards::ShardOfPartition(uint32_t partition) const {
  return shards_[ShardOf(partition, static_cast<uint32_t>(shards_.size()))];
}

absl::Status SavedShards::CheckSame(const OpenRequest& request) const {
  for (const Shard& shard : shards_) {
    const OpenRequest& saved = shard.record.opened();
    TESSERA_RETURN_IF_ERROR(InFolder(DescribeDifference(saved.table(), request.table()), shard.folder));
    if (saved.seed() != request.seed()) {
      return absl::InvalidArgumentError(
          absl::StrCat(shard.folder, ": was made with seed ", saved.seed(), ", the job has ", request.seed()));
    }
    if (saved.variables_size() != request.variables_size()) {
      return absl::InvalidArgumentError(absl::StrCat(shard.folder, ": has ", saved.variables_size(), " dense variables, the job has ",
                                                     request.variables_size()));
    }
    for (int v = 0; v < saved.variables_size(); ++v) {
      if (saved.variables(v).SerializeAsString() == request.variables(v).SerializeAsString()) continue;
      return absl::InvalidArgumentError(absl::StrCat(shard.folder, ": variable differs: saved {", saved.variables(v).ShortDebugString(),
                                                     "}, the job has {", request.variables(v).ShortDebugString(), "}"));
    }
  }
  return absl::OkStatus();
}

absl::Status SavedShards::ReadPartition(uint32_t partition, absl::FunctionRef<absl::Status(const SavedRow&)> body) const {
  const Shard& shard = ShardOfPartition(partition);
  uint64_t rows = 0;
  std::vector<float> floats;
  SavedRow row;
  const absl::Status status =
      shard.state->ForEach(KeyBound(RecordKind::kRow, partition), KeyBound(RecordKind::kRow, partition + 1),
                           [&](absl::string_view key, absl::string_view value) {
                             TESSERA_RETURN_IF_ERROR(DecodeRow(key, value, &floats, &row));
                             ++rows;
                             return body(row);
                           });
  TESSERA_RETURN_IF_ERROR(InFolder(status, shard.folder));
  PartitionSummary summary;
  const absl::StatusOr<std::string> value = shard.state->Get(KeyBound(RecordKind::kSummary, partition));
  if (!absl::IsNotFound(value.status())) {
    TESSERA_RETURN_IF_ERROR(value.status());
    TESSERA_RETURN_IF_ERROR(InFolder(DecodeSummary(partition, *value, &summary), shard.folder));
  }
  if (rows == summary.rows) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(shard.folder, ": partition ", partition, " holds ", rows, " rows, ", summary.rows, " were saved"));
}

absl::Status SavedShards::ReadRows(uint32_t first, uint32_t last, ThreadPool* pool,
                                   absl::FunctionRef<absl::Status(const SavedRow&)> body) const {
  std::vector<absl::Status> results(last - first);
  std::atomic<bool> failed{false};
  pool->ParallelFor(last - first, [&](int64_t i) {
    if (failed.load(std::memory_order_relaxed)) return;
    results[i] = ReadPartition(first + static_cast<uint32_t>(i), body);
    if (!results[i].ok()) failed.store(true, std::memory_order_relaxed);
  });
  for (const absl::Status& result : results) TESSERA_RETURN_IF_ERROR(result);
  return absl::OkStatus();
}

absl::Status SavedShards::ReadChunks(uint32_t first, uint32_t last, absl::FunctionRef<absl::Status(const SavedChunk&)> body) const {
  std::vector<float> floats;
  for (uint32_t p = first; p < last; ++p) {
    const Shard& shard = ShardOfPartition(p);
    SavedChunk chunk;
    TESSERA_RETURN_IF_ERROR(InFolder(shard.state->ForEach(KeyBound(RecordKind::kChunk, p), KeyBound(RecordKind::kChunk, p + 1),
                                                          [&](absl::string_view key, absl::string_view value) {
                                                            TESSERA_RETURN_IF_ERROR(DecodeChunk(key, value, &floats, &chunk));
                                                            return body(chunk);
                                                          }),
                                     shard.folder));
  }
  return absl::OkStatus();
}

}  // namespace tessera
