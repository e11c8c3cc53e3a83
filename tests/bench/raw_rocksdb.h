// RocksDB as one would set it up by hand for such rows: 8-byte keys, values of 17 + 17 floats, no more.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>

#include "tests/bench/pairs.h"

namespace tessera {

inline void CheckRocks(const rocksdb::Status& status) {
  if (!status.ok()) Check(absl::InternalError(status.ToString()));
}

inline rocksdb::Options RawOptions(uint64_t cache_bytes) {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.compression = rocksdb::kNoCompression;
  options.IncreaseParallelism(2);
  options.write_buffer_size = 128 << 20;
  options.max_write_buffer_number = 4;
  options.level_compaction_dynamic_level_bytes = true;
  options.optimize_filters_for_hits = false;  // new ids are common, and must not cost a block each
  options.max_open_files = -1;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(cache_bytes, 6);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
  table.data_block_hash_table_util_ratio = 0.75;
  table.block_size = 4096;
  table.cache_index_and_filter_blocks = false;
  table.format_version = 5;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

inline std::unique_ptr<rocksdb::DB> OpenRaw(const rocksdb::Options& options, const std::string& folder) {
  rocksdb::DB* db = nullptr;
  CheckRocks(rocksdb::DB::Open(options, folder, &db));
  return std::unique_ptr<rocksdb::DB>(db);
}

// So that every key is in one file, whoever wrote it and how.
inline void CompactAll(rocksdb::DB* db) {
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  CheckRocks(db->CompactRange(options, nullptr, nullptr));
}

inline rocksdb::WriteOptions WithoutLog() {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  return options;
}

inline rocksdb::Slice BytesOf(const uint64_t& id) { return rocksdb::Slice(reinterpret_cast<const char*>(&id), sizeof id); }

}  // namespace tessera
