#include "ps/table/rocksdb_options.h"

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
  // Indexes and filters of all files need not fit: they are cached in parts, before any rows. A part serves 2,000 blocks or 26,000 rows:
  // with 4 KiB a key looks through as many parts as there are keys, which costs a fifth of a read that finds all in the cache.
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = 32u << 10;
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.pin_top_level_index_and_filter = true;  // small
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.cache_usage_options.options_overrides[rocksdb::CacheEntryRole::kBlockBasedTableReader].charged =
      rocksdb::CacheEntryRoleOptions::Decision::kEnabled;
  return table;
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
  options.target_file_size_base = 32u << 20;  // the unit of one compaction
  options.max_background_jobs = 2;            // one flush, one compaction: a machine may have 2 cores, and reads come first
  options.bytes_per_sync = 1u << 20;          // steady writing, so that the sync at the end of a file holds up no reads
  options.max_open_files = 512;
  options.avoid_flush_during_shutdown = true;  // so that ending in order leaves no more than a crash
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.info_log = std::make_shared<SilentLog>();
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(MakeTableOptions(std::move(cache))));
  return options;
}

}  // namespace tessera
