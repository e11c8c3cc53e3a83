// One gRPC call with a deadline and an error that names the peer. For *_client.cc only.
#pragma once

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/status_mapping.h"
#include "grpcpp/client_context.h"

namespace tessera {

// Calls stub->*method. `peer` begins the message of an error. Thread-safe.
template <class Stub, class Request, class Reply>
absl::Status UnaryCall(Stub* stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*), int64_t deadline_ms,
                       const std::string& peer, const Request& request, Reply* reply) {
  grpc::ClientContext context;
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(deadline_ms, GPR_TIMESPAN)));
  const absl::Status status = FromGrpc((stub->*method)(&context, request, reply));
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(peer, ": ", status.message()));
}

}  // namespace tessera
