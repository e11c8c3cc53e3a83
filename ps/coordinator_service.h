// The coordinator on the wire.
#pragma once

#include <memory>

#include "common/coordinator_api.h"

namespace grpc {
class Service;
}

namespace tessera {

// Decodes, calls `coordinator`, encodes: nothing else. Done holds a thread of the server for at most kPollMs. `coordinator` outlives the
// service. Thread-safe.
std::shared_ptr<grpc::Service> MakeCoordinatorService(CoordinatorApi* coordinator);

}  // namespace tessera
