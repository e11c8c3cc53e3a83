// The table part of a checkpoint: the folders shard-0-of-n to shard-(n-1)-of-n that n servers saved, read back by any number of servers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "ps/table/shard_format.h"
#include "ps/table/state_db.h"

namespace tessera {

// Constant after Open. Every record read is checked by size, checksum and place; errors name the folder.
class SavedShards {
 public:
  // Opens all shards in `folder`: NOT_FOUND when there are none, DATA_LOSS when one is missing or they do not belong together.
  static absl::StatusOr<SavedShards> Open(const std::string& folder);

  uint64_t step() const;
  uint32_t period() const;
  // The highest log sequence number of any shard.
  uint64_t lsn() const;
  // INVALID_ARGUMENT says how table and variables of the checkpoint differ from those of `request`.
  absl::Status CheckSame(const OpenRequest& request) const;

  // Calls body for every row in partitions [first, last), from several threads of the pool; stops at an error. Rows that the saving
  // servers counted and that are not there are DATA_LOSS.
  absl::Status ReadRows(uint32_t first, uint32_t last, ThreadPool* pool, absl::FunctionRef<absl::Status(const SavedRow&)> body) const;
  // What shard `shard` of `shards` goes on counting from: over all shards it adds up to what was saved. `inserted` is left out.
  RowAccounting AccountingOf(uint32_t shard, uint32_t shards) const;
  // Calls body with the sighting counters of a partition, if any were saved.
  absl::Status ReadSightings(uint32_t partition, absl::FunctionRef<absl::Status(absl::string_view)> body) const;
  absl::Status ReadChunks(uint32_t first, uint32_t last, absl::FunctionRef<absl::Status(const SavedChunk&)> body) const;

 private:
  struct Shard {
    std::string folder;
    ShardRecord record;
    std::unique_ptr<StateDb> state;
  };

  SavedShards() = default;
  const Shard& ShardOfPartition(uint32_t partition) const;
  absl::Status ReadPartition(uint32_t partition, absl::FunctionRef<absl::Status(const SavedRow&)> body) const;

  std::vector<Shard> shards_;  // in order
};

}  // namespace tessera
