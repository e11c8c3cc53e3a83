// How RocksDB is set up for a server's tables; each choice has its reason beside it. For state_db.cc only.
#pragma once

#include <cstdint>
#include <memory>

#include <rocksdb/cache.h>
#include <rocksdb/options.h>

namespace tessera {

// Of all that a database may hold in memory; MakeDbOptions charges its write buffers to it too.
std::shared_ptr<rocksdb::Cache> MakeCache(uint64_t memory_bytes);
rocksdb::Options MakeDbOptions(uint64_t memory_bytes, std::shared_ptr<rocksdb::Cache> cache);

}  // namespace tessera
