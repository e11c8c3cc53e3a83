#include "tools/stopped_servers.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "tools/command_line.h"

namespace tessera {
namespace {

// How many servers left their folders in `state`; 0: none.
uint32_t CountShards(const std::string& state) {
  std::error_code error;
  uint32_t total = 0;
  for (std::filesystem::directory_iterator it(state, error), end; !error && it != end; it.increment(error)) {
    uint32_t shard = 0, shards = 0;
    if (std::sscanf(it->path().filename().c_str(), "shard-%u-of-%u", &shard, &shards) == 2) total = std::max(total, shards);
  }
  return total;
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Server>>> OpenStoppedServers(const std::string& state, ThreadPool* pool) {
  const uint32_t shards = CountShards(state);
  if (shards == 0) return UsageError(absl::NotFoundError(absl::StrCat(state, ": no folder shard-0-of-N in it: no server kept its state here")));
  std::vector<std::unique_ptr<Server>> servers;
  for (uint32_t shard = 0; shard < shards; ++shard) {
    ServerOptions options;
    options.shard = shard;
    options.shards = shards;
    options.state_directory = state;
    servers.push_back(std::make_unique<Server>(options, pool));
    TESSERA_RETURN_IF_ERROR(servers.back()->Recover());
    if (servers.back()->is_open()) continue;
    return UsageError(absl::NotFoundError(absl::StrCat(state, ": shard ", shard, " of ", shards, " left nothing to look at: it kept no log ",
                                                       "(storage.durability: checkpoint), or its opening broke off; look at a checkpoint with --checkpoint")));
  }
  return servers;
}

}  // namespace tessera
