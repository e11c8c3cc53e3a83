// A parameter server on another machine, as ParameterServerApi.
#pragma once

#include <memory>
#include <string>

#include "common/parameter_server_api.h"

namespace tessera {

// Calls go over gRPC with a deadline each (common/limits.h) and are not retried here. Every error begins with who it is about: "server 1 at
// 10.0.0.2:7001: ...". Thread-safe.
std::unique_ptr<ParameterServerApi> MakeParameterServerClient(uint32_t shard, const std::string& address);

}  // namespace tessera
