#include "ps/table/rocksdb_options.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

namespace tessera {
namespace {

// RocksDB's own messages would put a file into folders that are only read.
class SilentLog : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

// Chosen for single rows of 100 to 300 bytes, read in sorted batches from anywhere in a table many times larger than memory.
rocksdb::BlockBasedTableOptions MakeTableOptions(std::shared_ptr<rocksdb::Cache> cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = std::move(cache);
  // A row costs one block from disk and its checksum: the smallest block that a page-sized read gives anyway.
  table.block_size = 4096;
  // Within the block a row is found by hash.
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.data_block_hash_table_util_ratio = 0.75;
  // Ids that are not there are common (new ones): 1 in 100 of them costs a read.
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  // Indexes and filters of all files need not fit: they are cached, before any rows, one piece for a file. Parts of files would fit a smaller
  // cache, but finding its part costs each key an eighth of a read that finds all in the cache; so small caches get small files instead.
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.cache_usage_options.options_overrides[rocksdb::CacheEntryRole::kBlockBasedTableReader].charged =
      rocksdb::CacheEntryRoleOptions::Decision::kEnabled;
  return table;
}

// Half of what the process may have, after asking for all that the system grants: a file that is not kept open is opened for each read.
// At 64 MiB a file, 16,384 are a terabyte.
int OpenFilesMax() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 512;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised = {limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<int>(std::clamp<rlim_t>(limit.rlim_cur / 2, 256, 16384));
}

}  // namespace

std::shared_ptr<rocksdb::Cache> MakeCache(uint64_t memory_bytes) {
  return rocksdb::NewLRUCache(memory_bytes, /*num_shard_bits=*/6);  // 64 locks: a few threads seldom meet at one
}

rocksdb::Options MakeDbOptions(uint64_t memory_bytes, std::shared_ptr<rocksdb::Cache> cache) {
  rocksdb::Options options;
  options.compression = rocksdb::kNoCompression;  // floats hardly compress
  options.paranoid_checks = true;
  // One part in 4 for writing: one buffer that fills while another is written out. They are charged to the cache, so the sum holds.
  options.write_buffer_size = std::max<uint64_t>(memory_bytes / 8, 64u << 10);
  options.max_write_buffer_number = 2;
  options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(memory_bytes / 4, cache);
  // Most ids looked up are not in the write buffer. About 8 bits for a row of 200 bytes: more would not stay in the processor's cache, and
  // cost each row written a fetch from memory.
  options.memtable_prefix_bloom_size_ratio = 0.006;
  options.memtable_whole_key_filtering = true;
  options.compaction_style = rocksdb::kCompactionStyleLevel;
  options.level_compaction_dynamic_level_bytes = true;  // 1.1 times the rows on disk, however many there are
  options.max_bytes_for_level_base = 8 * options.write_buffer_size;
  // The unit of one compaction. Its filter, a hundredth of it, is a tenth of one of the cache's 64 shards at most.
  options.target_file_size_base = std::clamp<uint64_t>(memory_bytes / 10, 2u << 20, 64u << 20);
  options.max_background_jobs = 2;            // one flush, one compaction: a machine may have 2 cores, and reads come first
  options.bytes_per_sync = 1u << 20;          // steady writing, so that the sync at the end of a file holds up no reads
  options.max_open_files = OpenFilesMax();
  options.avoid_flush_during_shutdown = true;  // so that ending in order leaves no more than a crash
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log = std::make_shared<SilentLog>();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(MakeTableOptions(std::move(cache))));
  return options;
}

}  // namespace tessera
