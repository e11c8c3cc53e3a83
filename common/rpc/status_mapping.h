// Errors on the wire: absl::Status and grpc::Status have the same codes; the message travels as it is.
#pragma once

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace tessera {

// Thread-safe: pure functions.
grpc::Status ToGrpc(const absl::Status& status);
// CANCELLED, which the library gives to the callers of a server that shuts down, becomes UNAVAILABLE: somebody may come back there.
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace tessera
