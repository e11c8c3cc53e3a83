// A parameter server on the wire.
#pragma once

#include <memory>

#include "common/parameter_server_api.h"

namespace grpc {
class Service;
}

namespace tessera {

// Decodes, calls `server`, encodes: nothing else. `server` outlives the service. Thread-safe.
std::shared_ptr<grpc::Service> MakeParameterServerService(ParameterServerApi* server);

}  // namespace tessera
