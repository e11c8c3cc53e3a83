#include "worker/client/request_parts.h"

#include <algorithm>
#include <cassert>

#include "common/limits.h"

namespace tessera {

std::vector<RequestPart> CutRequest(size_t begin, size_t end, size_t id_bytes, absl::Span<const size_t> dense_bytes) {
  assert(id_bytes > 0 && id_bytes <= kPayloadBytesTarget && begin <= end);
  std::vector<RequestPart> parts;
  do {
    const size_t dense = parts.size() < dense_bytes.size() ? dense_bytes[parts.size()] : 0;
    const size_t room = kPayloadBytesTarget - std::min(dense, kPayloadBytesTarget);
    const size_t ids = std::min(room / id_bytes, end - begin);
    parts.push_back({begin, begin + ids});
    begin += ids;
  } while (begin < end || parts.size() < dense_bytes.size());
  return parts;
}

}  // namespace tessera
