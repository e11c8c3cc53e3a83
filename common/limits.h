// Every limit of the wire and the daemons, with its reason. Relations between them are asserted here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tessera {

// A gRPC message is never larger: beyond about 1 MB a bigger message is not faster, and a server must not be made to hold hundreds of
// megabytes by one call.
inline constexpr size_t kMessageBytesMax = 64u << 20;
// Requests are cut so that neither they nor their answers exceed this; room is left for headers, counts and dense chunks of large layers.
inline constexpr size_t kPayloadBytesTarget = 8u << 20;
static_assert(kPayloadBytesTarget * 4 <= kMessageBytesMax);

// Long polls return after this, so that a lost connection is noticed and a handler thread is never held longer.
inline constexpr int64_t kPollMs = 2000;
// A worker that sent no heartbeat for this long is taken for dead.
inline constexpr int64_t kLeaseMs = 30000;
inline constexpr int64_t kHeartbeatMs = 3000;
static_assert(kHeartbeatMs * 3 < kLeaseMs);
// Deadline of one pull, stage or push; a larger step is many calls.
inline constexpr int64_t kCallMs = 60000;
static_assert(kPollMs * 2 < kCallMs);
// A hint that has not arrived by now is of no use.
inline constexpr int64_t kHintMs = 2000;
// Saving or loading a shard may take long; the bound is there so that nothing waits for ever.
inline constexpr int64_t kSaveMs = 3600000;

}  // namespace tessera
