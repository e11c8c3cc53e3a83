// What both ends of a connection must agree on.
#pragma once

#include "common/limits.h"

namespace tessera {

// A client pings a silent connection this often, so that a dead peer or a forgetful firewall is noticed.
inline constexpr int kKeepaliveMs = 10000;
inline constexpr int kKeepaliveTimeoutMs = 10000;
// A worker behind a connection that died without a word connects anew before it is taken for dead.
static_assert(kKeepaliveMs + kKeepaliveTimeoutMs + kHeartbeatMs < kLeaseMs);
// A server takes pings that come faster than this for abuse (ENHANCE_YOUR_CALM) and closes the connection.
inline constexpr int kKeepaliveMinMs = 4000;
static_assert(kKeepaliveMinMs * 2 < kKeepaliveMs);

// The library's own lines on stderr say nothing that our errors do not. They are kept where GRPC_VERBOSITY is set. Idempotent, thread-safe.
void QuietGrpc();

}  // namespace tessera
