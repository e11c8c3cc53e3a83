#include "ps/table/index_memory.h"

#include <cassert>

#include "common/partition.h"

namespace tessera {

char* IndexMemory::Take(uint32_t partition, uint32_t level) {
  assert(partition < kPartitions && level < kLevels);
  const size_t bytes = kBytesMin << level;
  MutexLock lock(&mutex_);
  if (blocks_[level].bytes() == 0) blocks_[level] = HugeBuffer(kPartitions * bytes);
  return blocks_[level].data() + partition * bytes;
}

void IndexMemory::GiveBack(uint32_t partition, uint32_t level) {
  const size_t bytes = kBytesMin << level;
  MutexLock lock(&mutex_);
  blocks_[level].Clear(partition * bytes, bytes);
}

}  // namespace tessera
