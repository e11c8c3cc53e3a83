#include "tools/served_table.h"

#include "absl/strings/str_cat.h"
#include "common/packed.h"
#include "common/partition.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

// The one map there is as long as servers do not come and go.
constexpr uint64_t kMap = 1;

}  // namespace

absl::StatusOr<ServedTable> ServedTable::Open(std::vector<ParameterServerApi*> servers, bool verify) {
  ServedTable table(std::move(servers));
  const uint32_t count = static_cast<uint32_t>(table.servers_.size());
  for (uint32_t shard = 0; shard < count; ++shard) {
    DescribeServerReply reply;
    DescribeServerRequest request;
    request.set_verify(verify);
    TESSERA_RETURN_IF_ERROR(table.servers_[shard]->DescribeServer(request, &reply));
    if (reply.shard() != shard || reply.shards() != count || (shard > 0 && reply.job() != table.replies_[0].job())) {
      return absl::FailedPreconditionError(absl::StrCat("server ", shard, " of the list says that it is shard ", reply.shard(), " of ",
                                                        reply.shards(), " of job \"", reply.job(),
                                                        "\"; name all servers of one job in the order of their shards"));
    }
    table.replies_.push_back(std::move(reply));
  }
  return table;
}

Peer ServedTable::PeerOf(uint32_t shard) const {
  Peer peer;
  peer.set_job(replies_[shard].job());
  peer.set_incarnation(replies_[shard].incarnation());
  peer.set_map_version(kMap);
  peer.set_shard(shard);
  peer.set_shards(static_cast<uint32_t>(servers_.size()));
  return peer;
}

TableStatus ServedTable::Total() const {
  TableStatus total;
  for (const DescribeServerReply& reply : replies_) {
    const TableStatus& t = reply.table();
    if (total.name().empty()) total.set_name(t.name());
    total.set_rows(total.rows() + t.rows());
    total.set_inserted(total.inserted() + t.inserted());
    total.set_evicted(total.evicted() + t.evicted());
    total.set_refused(total.refused() + t.refused());
    total.set_memory_rows(total.memory_rows() + t.memory_rows());
    total.set_memory_bytes(total.memory_bytes() + t.memory_bytes());
    total.set_memory_bytes_max(total.memory_bytes_max() + t.memory_bytes_max());
    total.set_disk_rows(total.disk_rows() + t.disk_rows());
    total.set_disk_bytes(total.disk_bytes() + t.disk_bytes());
    total.set_hits(total.hits() + t.hits());
    total.set_misses(total.misses() + t.misses());
    total.set_dirty_rows(total.dirty_rows() + t.dirty_rows());
    total.set_written_rows(total.written_rows() + t.written_rows());
    total.set_write_back_rows_per_second(total.write_back_rows_per_second() + t.write_back_rows_per_second());
  }
  return total;
}

absl::StatusOr<ServedTable::Row> ServedTable::Get(uint64_t id) const {
  const uint32_t shard = ShardOf(PartitionOf(id), static_cast<uint32_t>(servers_.size()));
  GetRowsRequest request;
  *request.mutable_peer() = PeerOf(shard);
  AppendPacked(absl::MakeConstSpan(&id, 1), request.mutable_ids());
  GetRowsReply reply;
  TESSERA_RETURN_IF_ERROR(servers_[shard]->GetRows(request, &reply));
  if (reply.rows_size() != 1) return absl::InternalError(absl::StrCat("server ", shard, " answered one id with ", reply.rows_size(), " rows"));
  return Row{reply.rows(0), shard};
}

absl::StatusOr<std::vector<uint64_t>> ServedTable::Evict(const Eviction& rule, bool dry_run) const {
  std::vector<uint64_t> ids;
  for (uint32_t partition = 0; partition < kPartitions; ++partition) {
    const uint32_t shard = ShardOf(partition, static_cast<uint32_t>(servers_.size()));
    EvictRequest request;
    *request.mutable_peer() = PeerOf(shard);
    if (rule.ByteSizeLong() > 0) *request.mutable_rule() = rule;
    request.set_dry_run(dry_run);
    request.set_partition(partition);
    EvictReply reply;
    TESSERA_RETURN_IF_ERROR(servers_[shard]->Evict(request, &reply));
    TESSERA_ASSIGN_OR_RETURN(const absl::Span<const uint64_t> evicted, PackedView<uint64_t>(reply.ids(), "ids"));
    ids.insert(ids.end(), evicted.begin(), evicted.end());
  }
  return ids;
}

}  // namespace tessera
