// One gRPC call with a deadline and an error that names the peer. For *_client.cc only.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/rpc/status_mapping.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace tessera {

// A call to a peer that is not connected waits this long for the connection. It is not enough to call again and again: the library looks
// after a connection that is being made only while somebody waits for it.
inline constexpr int64_t kConnectMs = 2000;

inline gpr_timespec DeadlineAfter(int64_t ms) { return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(ms, GPR_TIMESPAN)); }

// Calls stub->*method. `peer` begins the message of an error. UNAVAILABLE where there is no connection within kConnectMs. Thread-safe.
template <class Stub, class Request, class Reply>
absl::Status UnaryCall(grpc::ChannelInterface* channel, Stub* stub,
                       grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*), int64_t deadline_ms,
                       const std::string& peer, const Request& request, Reply* reply) {
  if (channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) channel->WaitForConnected(DeadlineAfter(kConnectMs));
  grpc::ClientContext context;
  context.set_deadline(DeadlineAfter(deadline_ms));
  const absl::Status status = FromGrpc((stub->*method)(&context, request, reply));
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(peer, ": ", status.message()));
}

}  // namespace tessera
