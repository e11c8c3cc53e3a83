// Memory for the indexes of one table's partitions: those of equal size side by side, so that small ones share huge pages as well.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "ps/table/huge_buffer.h"

namespace tessera {

// Thread-safe.
class IndexMemory {
 public:
  // A block of level n has kBytesMin << n bytes.
  static constexpr size_t kBytesMin = 512;
  static constexpr uint32_t kLevels = 27;

  // The partition's block of a level, zero-filled. REQUIRES: it does not have it. The block is the partition's until it gives it back.
  char* Take(uint32_t partition, uint32_t level);
  void GiveBack(uint32_t partition, uint32_t level);

 private:
  Mutex mutex_;
  std::array<HugeBuffer, kLevels> blocks_ ABSL_GUARDED_BY(mutex_);  // of all partitions, mapped when the first one asks
};

}  // namespace tessera
