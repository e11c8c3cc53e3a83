#include "common/heap.h"

#include <malloc.h>

namespace tessera {

void KeepFreedMemory() {
#ifdef __GLIBC__
  constexpr int kMiB = 1 << 20;
  // Setting either of these also stops glibc from moving them by itself.
  mallopt(M_MMAP_THRESHOLD, 1024 * kMiB);
  mallopt(M_TRIM_THRESHOLD, 2047 * kMiB);
  mallopt(M_TOP_PAD, 16 * kMiB);
#endif
}

}  // namespace tessera
