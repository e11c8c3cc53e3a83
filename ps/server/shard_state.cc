#include "ps/server/shard_state.h"

#include <algorithm>
#include <utility>

#include <xxhash.h>

#include "absl/strings/str_cat.h"
#include "common/fault_point.h"
#include "common/partition.h"
#include "common/sightings.h"
#include "common/status_macros.h"
#include "ps/checkpoint/durable_file.h"
#include "ps/server/kept_file.h"
#include "ps/server/memory_plan.h"
#include "ps/table/saved_shards.h"
#include "ps/table/shard_format.h"

namespace tessera {
namespace {

uint64_t HashOf(const OpenRequest& request) {
  const std::string bytes = request.SerializeAsString();
  return XXH3_64bits(bytes.data(), bytes.size());
}

OpenRequest WithoutSource(OpenRequest request) {
  request.set_asked_hash(HashOf(request));
  request.clear_restore_from();
  request.clear_sightings();
  return request;
}

bool LogIsWanted(const OpenRequest& request) {
  const Durability durability = request.storage().durability();
  return durability == Durability::process || durability == Durability::power;
}

std::string DbFolder(const std::string& folder) { return absl::StrCat(folder, "/rows"); }
std::string LogFolder(const std::string& folder) { return absl::StrCat(folder, "/log"); }

absl::StatusOr<ShardRecord> ReadRecord(const std::string& folder) {
  TESSERA_ASSIGN_OR_RETURN(const std::unique_ptr<StateDb> db, StateDb::OpenForReading(DbFolder(folder)));
  TESSERA_ASSIGN_OR_RETURN(const std::string value, db->Get(MetaKey()));
  ShardRecord record;
  if (const absl::Status status = DecodeRecord(value, &record); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(DbFolder(folder), ": ", status.message()));
  }
  return record;
}

// Job, server and incarnation: a log of any other is none of this state.
std::string OwnerOf(const Peer& peer) {
  return absl::StrCat(peer.job(), "\n", peer.incarnation(), " ", peer.shard(), " ", peer.shards());
}

}  // namespace

ShardState::ShardState(OpenRequest opened, std::string folder)
    : opened_(std::move(opened)), folder_(std::move(folder)), has_log_(LogIsWanted(opened_)) {}

ShardState::~ShardState() {
  warmer_.reset();
  upkeep_.reset();
}

bool ShardState::IsRepeat(const OpenRequest& request) const { return HashOf(request) == opened_.asked_hash(); }

absl::StatusOr<std::unique_ptr<ShardState>> ShardState::Make(const OpenRequest& request, const std::string& folder, ThreadPool* pool) {
  std::unique_ptr<ShardState> state(new ShardState(WithoutSource(request), folder));
  // First: a process that ends from here on leaves nothing to go on from, however much is there already.
  if (!folder.empty()) TESSERA_RETURN_IF_ERROR(RemoveKept(folder));
  FaultPoint("open.begin");
  TESSERA_RETURN_IF_ERROR(state->MakeParts(pool, /*existing=*/false));
  FaultPoint("open.empty");
  if (!request.restore_from().empty()) {
    TESSERA_RETURN_IF_ERROR(state->Restore(request.restore_from(), pool));
  } else if (state->admits() && !request.sightings().empty()) {
    TESSERA_RETURN_IF_ERROR(state->LoadSightings(request.sightings()));
  }
  if (state->has_log()) {
    TESSERA_RETURN_IF_ERROR(PushLog::Remove(LogFolder(folder)));
    uint64_t next_lsn = 0;
    {
      MutexLock lock(&state->update_mutex_);
      next_lsn = state->lsn_ + 1;
    }
    TESSERA_RETURN_IF_ERROR(state->OpenLog(next_lsn, next_lsn, [](const LogRecord&) { return absl::OkStatus(); }));
    MutexLock lock(&state->upkeep_mutex_);
    TESSERA_RETURN_IF_ERROR(state->Shorten());
  }
  state->StartUpkeep();
  return state;
}

absl::StatusOr<std::unique_ptr<ShardState>> ShardState::Recover(const std::string& folder, ThreadPool* pool) {
  TESSERA_ASSIGN_OR_RETURN(const uint64_t kept, ReadKept(folder));
  const absl::StatusOr<ShardRecord> read = ReadRecord(folder);
  if (absl::IsNotFound(read.status())) return absl::DataLossError(absl::StrCat("state lost: ", read.status().message()));
  TESSERA_RETURN_IF_ERROR(read.status());
  const ShardRecord& record = *read;
  if (!FileExists(LogFolder(folder))) return absl::DataLossError(absl::StrCat("state lost: ", LogFolder(folder), " is not there"));
  if (record.lsn() < kept) {
    return absl::DataLossError(absl::StrCat("state lost: the database ", DbFolder(folder), " holds all up to record ", record.lsn(),
                                            " only, and had held all up to ", kept, ": its newest files or the end of its manifest are gone"));
  }
  std::unique_ptr<ShardState> state(new ShardState(record.opened(), folder));
  TESSERA_RETURN_IF_ERROR(state->MakeParts(pool, /*existing=*/true));
  TESSERA_RETURN_IF_ERROR(state->ReplayAll(record));
  state->StartUpkeep();
  return state;
}

absl::Status ShardState::MakeParts(ThreadPool* pool, bool existing) {
  const Peer& peer = opened_.peer();
  TESSERA_ASSIGN_OR_RETURN(std::shared_ptr<const RowLayout> layout, RowLayout::Make(opened_.table(), opened_.seed()));
  const uint32_t first = PartitionBegin(peer.shard(), peer.shards());
  const uint32_t last = PartitionBegin(peer.shard() + 1, peer.shards());
  TESSERA_ASSIGN_OR_RETURN(dense_, DenseStore::Make(opened_.variables(), opened_.seed(), first, last, pool));
  shape_ = {layout->dim(), first, last, {}, &opened_.table(), dense_.get()};
  for (uint32_t k = 0; k < dense_->slices(); ++k) shape_.dense_slices.push_back(dense_->slice_floats(k));
  TESSERA_ASSIGN_OR_RETURN(const MemoryPlan plan, PlanMemory(opened_, *layout, *dense_));
  if (!folder_.empty()) {
    StateDbOptions options;
    options.memory_bytes = plan.db_bytes;
    TESSERA_ASSIGN_OR_RETURN(db_, existing ? StateDb::Open(DbFolder(folder_), options) : StateDb::Create(DbFolder(folder_), options));
  }
  TieredOptions options;
  options.first_partition = first;
  options.last_partition = last;
  options.memory_bytes_max = plan.rows_bytes;
  options.admit_at = opened_.admission().sightings();
  options.sighting_bytes = Sightings::BytesPerPartition(opened_.admission().memory().bytes());
  options.eviction = EvictionRuleOf(opened_.eviction(), opened_.table().name());
  rows_ = std::make_unique<TieredRowStore>(layout, pool, db_.get(), options);
  memory_rows_max_ = folder_.empty() ? 0 : plan.rows_max;
  dirty_rows_max_ = plan.dirty_rows_max;
  return absl::OkStatus();
}

absl::Status ShardState::Restore(const std::string& from, ThreadPool* pool) {
  TESSERA_ASSIGN_OR_RETURN(const SavedShards saved, SavedShards::Open(from));
  TESSERA_RETURN_IF_ERROR(saved.CheckSame(opened_));
  const uint32_t first = shape_.first_partition;
  const uint32_t last = shape_.last_partition;
  TESSERA_RETURN_IF_ERROR(saved.ReadRows(first, last, pool, [&](const SavedRow& row) { return rows_->Load(row); }));
  TESSERA_RETURN_IF_ERROR(rows_->FinishLoad());
  TESSERA_RETURN_IF_ERROR(saved.ReadChunks(first, last, [&](const SavedChunk& chunk) { return dense_->Load(chunk); }));
  if (absl::Status status = dense_->CheckAllLoaded(); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(from, ": ", status.message()));
  }
  for (uint32_t p = first; p < last; ++p) {
    TESSERA_RETURN_IF_ERROR(saved.ReadSightings(p, [&](absl::string_view counters) { return rows_->LoadSightings(p, counters); }));
  }
  RowAccounting accounting = saved.AccountingOf(opened_.peer().shard(), opened_.peer().shards());
  accounting.inserted = CountRows() + accounting.evicted + accounting.refused;
  rows_->SetAccounting(accounting, saved.lsn());
  rows_->SetPeriod(saved.period());
  steps_.Reset(saved.step());
  MutexLock lock(&update_mutex_);
  lsn_ = saved.lsn();
  return absl::OkStatus();
}

absl::Status ShardState::LoadSightings(absl::string_view counters) {
  const uint32_t partitions = shape_.last_partition - shape_.first_partition;
  const size_t bytes = Sightings::BytesPerPartition(opened_.admission().memory().bytes());
  if (counters.size() != partitions * bytes) {
    return absl::InvalidArgumentError(absl::StrCat("open: sightings have ", counters.size(), " bytes, ", partitions, " partitions of ", bytes,
                                                   " are wanted (admission.memory)"));
  }
  for (uint32_t i = 0; i < partitions; ++i) {
    TESSERA_RETURN_IF_ERROR(rows_->LoadSightings(shape_.first_partition + i, counters.substr(i * bytes, bytes)));
  }
  return absl::OkStatus();
}

absl::Status ShardState::OpenLog(uint64_t first_lsn, uint64_t next_lsn_min, absl::FunctionRef<absl::Status(const LogRecord&)> replay) {
  PushLogOptions options;
  options.folder = LogFolder(folder_);
  options.owner = OwnerOf(opened_.peer());
  options.bytes_max = LogBytesMax(opened_);
  options.power = opened_.storage().durability() == Durability::power;
  options.segment_bytes = LogSegmentBytes(opened_);
  TESSERA_ASSIGN_OR_RETURN(log_, PushLog::Open(options, first_lsn, next_lsn_min, replay));
  MutexLock lock(&update_mutex_);
  lsn_ = log_->next_lsn() - 1;
  return absl::OkStatus();
}

uint64_t ShardState::CountRows() const {
  uint64_t rows = 0;
  for (uint64_t count : rows_->CountRows()) rows += count;
  return rows;
}

absl::Status ShardState::health() const {
  MutexLock lock(&progress_mutex_);
  return failure_;
}

void ShardState::Fail(const absl::Status& status) {
  MutexLock lock(&progress_mutex_);
  if (failure_.ok()) failure_ = status;
}

void ShardState::Describe(DescribeServerReply* reply) const {
  const TieredStatus status = rows_->status();
  const RowAccounting accounting = rows_->accounting();
  TableStatus* const table = reply->mutable_table();
  table->set_name(opened_.table().name());
  table->set_rows(CountRows());
  table->set_inserted(accounting.inserted);
  table->set_evicted(accounting.evicted);
  table->set_refused(accounting.refused);
  table->set_memory_rows(status.memory_rows);
  table->set_memory_bytes(status.memory_bytes + dense_->memory_bytes() + (db_ == nullptr ? 0 : db_->memory_bytes()));
  table->set_memory_bytes_max(opened_.storage().memory_per_server().bytes());
  table->set_disk_rows(status.disk_rows);
  table->set_disk_bytes(db_ == nullptr ? 0 : db_->disk_bytes());
  table->set_hits(status.hits);
  table->set_misses(status.misses);
  table->set_dirty_rows(status.dirty_rows);
  table->set_written_rows(status.written_rows);
  table->set_write_back_rows_per_second(write_back_rate_);
  reply->set_rows(table->rows());
  reply->set_bytes(status.memory_bytes);
  DurabilityStatus* const durability = reply->mutable_durability();
  durability->set_mode(opened_.storage().durability());
  if (log_ != nullptr) {
    durability->set_lsn(log_->next_lsn() - 1);
    durability->set_durable_lsn(log_->durable_lsn());
    durability->set_needed_lsn(needed_lsn_);
    durability->set_log_bytes(log_->bytes());
    durability->set_log_bytes_max(log_->bytes_max());
  }
  durability->set_replayed_records(replayed_records_);
  durability->set_replayed_bytes(replayed_bytes_);
  durability->set_replay_seconds(absl::ToDoubleSeconds(replay_time_));
  MutexLock lock(&progress_mutex_);
  durability->set_stalled(stalled_);
}

}  // namespace tessera
