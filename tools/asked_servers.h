// Whose tables a person asks for: those of running servers, of stopped ones, or of a checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/parameter_server_api.h"
#include "common/thread_pool.h"
#include "tools/loaded_model.h"
#include "tools/served_table.h"

namespace tessera {

// One of these is given.
struct TableSource {
  std::string servers;     // HOST:PORT,HOST:PORT by shard
  std::string state;       // a storage.directory
  std::string checkpoint;  // as FindCheckpoint takes it
  bool verify = false;     // all files are read and checked first
};

// Owned by one thread.
struct AskedServers {
  std::vector<std::string> addresses;  // for people
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<LoadedModel> checkpoint;
  std::vector<std::unique_ptr<ParameterServerApi>> servers;
  std::optional<ServedTable> table;
  bool running = false;

  // Usage error where the source is not clear.
  static absl::StatusOr<AskedServers> Connect(const TableSource& source);
  // The row that `field=token` means; see RowIdOf. A stopped server knows no fields: there the token's embedding has the field's name.
  absl::StatusOr<uint64_t> RowId(const std::string& name) const;
};

}  // namespace tessera
