// All parameter servers of the job as the coordinator speaks to them: every call goes to all at once, and all must succeed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/parameter_server_api.h"
#include "proto/checkpoint.pb.h"
#include "proto/plan.pb.h"

namespace tessera {

// The only map there is as long as servers do not come and go.
inline constexpr uint64_t kMapVersion = 1;

// Owned by one thread, apart from what `cancelled` does. Errors name the server and its address.
class ServerGroup {
 public:
  // How all are called: side by side is the rule; a simulation, which is a function of its seed, calls one after another.
  enum class Calls { kSideBySide, kOneByOne };
  // `servers` by shard; they outlive the group.
  ServerGroup(std::string job, std::vector<ParameterServerApi*> servers, std::vector<std::string> addresses, Clock* clock,
              Calls calls = Calls::kSideBySide);

  // Opens all, fresh or from a checkpoint's folder. A server that is away is asked again until `patience` has passed or `cancelled`
  // says so. DATA_LOSS if one is not at `step`, where that is given. `sightings`, of all partitions or empty, is for fresh servers only:
  // each gets its partitions' part; INVALID_ARGUMENT if its size is not what the plan's admission makes.
  absl::Status Open(const Plan& plan, uint64_t incarnation, const std::string& restore_from, const std::string& sightings,
                    std::optional<uint64_t> step, absl::Duration patience, const std::function<bool()>& cancelled);
  // After a restart of this process: finds all servers open in `incarnation` and, where there is a decision d(t), at step t or t - 1; one with
  // a flag is committed again. Asks again like Open. DATA_LOSS, "state lost", if one is elsewhere.
  absl::Status Return(uint64_t incarnation, const Decision& decision, absl::Duration patience, const std::function<bool()>& cancelled);
  // Commits a flagged decision everywhere, asking again like Open. REQUIRES: open.
  absl::Status Commit(const Decision& decision, absl::Duration patience, const std::function<bool()>& cancelled);
  // Ends the pushes of a worker's generation everywhere, asking again like Open; what each server has of them. REQUIRES: open.
  absl::StatusOr<std::vector<FenceReply>> Fence(uint32_t worker, uint64_t generation, absl::Duration patience,
                                                const std::function<bool()>& cancelled);
  // Saves all into shard folders below `folder`, asking again like Open, and fills rows, files, shards and digest of the manifest.
  // DATA_LOSS as in Open. `replies`: by shard.
  absl::Status Save(const std::string& folder, std::optional<uint64_t> step, absl::Duration patience,
                    const std::function<bool()>& cancelled, Checkpoint* manifest, std::vector<SaveReply>* replies);

 private:
  // Calls call(shard) for all shards, side by side each on a thread of its own, and returns the first error by shard, with its address.
  absl::Status OnAll(const std::string& what, const std::function<absl::Status(uint32_t)>& call);
  // All these calls may be repeated: a server that has done one already answers the same.
  absl::Status Call(uint32_t shard, absl::Duration patience, const std::function<bool()>& cancelled,
                    absl::FunctionRef<absl::Status()> attempt);
  Peer PeerOf(uint32_t shard) const;

  const std::string job_;
  const std::vector<ParameterServerApi*> servers_;
  const std::vector<std::string> addresses_;
  Clock* const clock_;
  const Calls calls_;
  uint64_t incarnation_ = 0;
};

}  // namespace tessera
