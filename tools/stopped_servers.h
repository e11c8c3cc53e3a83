// The servers of a job that is not running, brought back in this process from their state folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "ps/server/server.h"

namespace tessera {

// All servers whose folders (shard-0-of-2) stand in `state`, in order, as a start of each would find them: the log is replayed. Usage error
// where there is none, or where they kept no log (storage.durability: checkpoint): then a checkpoint is what there is to look at. An error
// says so where one of them runs. The pool outlives them.
absl::StatusOr<std::vector<std::unique_ptr<Server>>> OpenStoppedServers(const std::string& state, ThreadPool* pool);

}  // namespace tessera
