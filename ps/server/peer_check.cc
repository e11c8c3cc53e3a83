#include "ps/server/peer_check.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

template <class T>
absl::Status Refuse(absl::string_view what, const T& caller, const T& own, absl::string_view remedy) {
  return absl::FailedPreconditionError(
      absl::StrCat("wrong peer: the call is meant for ", what, " ", caller, ", this server has ", what, " ", own, "; ", remedy));
}

}  // namespace

absl::Status CheckShard(const Peer& caller, const Peer& own) {
  if (caller.job() != own.job()) return Refuse<std::string>("job", caller.job(), own.job(), "check the address");
  const std::string caller_shard = absl::StrCat(caller.shard(), " of ", caller.shards());
  const std::string own_shard = absl::StrCat(own.shard(), " of ", own.shards());
  if (caller_shard != own_shard) return Refuse<std::string>("shard", caller_shard, own_shard, "check the order of the addresses");
  return absl::OkStatus();
}

absl::Status CheckPeer(const Peer& caller, const Peer& own) {
  if (absl::Status status = CheckShard(caller, own); !status.ok()) return status;
  // Nobody has work in an incarnation before all servers are open in it.
  if (caller.incarnation() > own.incarnation()) {
    return absl::DataLossError(absl::StrCat("state lost: this server was open in incarnation ", caller.incarnation(), ", and holds incarnation ",
                                            own.incarnation()));
  }
  if (caller.incarnation() != own.incarnation()) return Refuse("incarnation", caller.incarnation(), own.incarnation(), "join again");
  if (caller.map_version() != own.map_version()) return Refuse("partition map", caller.map_version(), own.map_version(), "join again");
  return absl::OkStatus();
}

}  // namespace tessera
