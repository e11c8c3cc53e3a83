// A coordinator on another machine, as CoordinatorApi.
#pragma once

#include <memory>
#include <string>

#include "common/coordinator_api.h"

namespace tessera {

// Calls go over gRPC with a deadline each (common/limits.h) and are not retried here. Every error begins with who it is about: "coordinator
// at 10.0.0.1:7000: ...". Thread-safe.
std::unique_ptr<CoordinatorApi> MakeCoordinatorClient(const std::string& address);

}  // namespace tessera
