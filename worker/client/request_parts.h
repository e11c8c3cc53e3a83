// Cutting a request that is too large for one message.
#pragma once

#include <cstddef>
#include <vector>

namespace tessera {

// The ids [begin, end) of one part.
struct RequestPart {
  size_t begin;
  size_t end;
};

// Cuts [begin, end) into runs of at most kPayloadBytesTarget bytes, `id_bytes` each; the first part also carries `first_bytes` of dense
// values, and so has fewer ids, or none. There is always at least one part. REQUIRES: 0 < id_bytes <= kPayloadBytesTarget.
// Thread-safe: a pure function.
std::vector<RequestPart> CutRequest(size_t begin, size_t end, size_t id_bytes, size_t first_bytes);

}  // namespace tessera
