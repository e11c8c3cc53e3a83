// Cutting a request that is too large for one message.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace tessera {

// The ids [begin, end) of one part.
struct RequestPart {
  size_t begin;
  size_t end;
};

// Cuts [begin, end) into runs of at most kPayloadBytesTarget bytes, `id_bytes` each; part i also carries dense_bytes[i] of dense
// values, and so has fewer ids, or none. There is at least one part, and one per entry of
// `dense_bytes`. REQUIRES: 0 < id_bytes <= kPayloadBytesTarget.
// Thread-safe: a pure function.
std::vector<RequestPart> CutRequest(size_t begin, size_t end, size_t id_bytes, absl::Span<const size_t> dense_bytes);

}  // namespace tessera
