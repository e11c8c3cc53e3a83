// Errors on the wire: absl::Status and grpc::Status have the same codes; the message travels as it is.
#pragma once

#include "absl/status/status.h"

namespace grpc {
class Status;
}

namespace tessera {

// Thread-safe: pure functions.
grpc::Status ToGrpc(const absl::Status& status);
absl::Status FromGrpc(const grpc::Status& status);

}  // namespace tessera
