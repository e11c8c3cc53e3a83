// Wrong peers are refused: a call must be meant for this server of this job in this incarnation.
#pragma once

#include "absl/status/status.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

// FAILED_PRECONDITION "wrong peer: ..." names what differs, the caller's value and this server's. Thread-safe.
absl::Status CheckPeer(const Peer& caller, const Peer& own);
// Job and shard only: for calls that may come before or across incarnations.
absl::Status CheckShard(const Peer& caller, const Peer& own);

}  // namespace tessera
