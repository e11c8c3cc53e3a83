#include "worker/client/request_parts.h"

#include <algorithm>
#include <cassert>

#include "common/limits.h"

namespace tessera {

std::vector<RequestPart> CutRequest(size_t begin, size_t end, size_t id_bytes, size_t first_bytes) {
  assert(id_bytes > 0 && id_bytes <= kPayloadBytesTarget && begin <= end);
  std::vector<RequestPart> parts;
  size_t room = kPayloadBytesTarget - std::min(first_bytes, kPayloadBytesTarget);
  do {
    const size_t ids = std::min(room / id_bytes, end - begin);
    parts.push_back({begin, begin + ids});
    begin += ids;
    room = kPayloadBytesTarget;
  } while (begin < end);
  return parts;
}

}  // namespace tessera
