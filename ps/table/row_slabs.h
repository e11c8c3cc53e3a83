// Memory for the rows of one table: slabs of equal rows, handed out in extents so that partitions share slabs but not cache lines.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "ps/table/huge_buffer.h"

namespace tessera {

// A row is a number; its address never changes. Thread-safe.
class RowSlabs {
 public:
  // Rows handed out at once: about half of this is unused per partition.
  static constexpr uint32_t kExtentRows = 64;

  // REQUIRES: row_bytes is a multiple of 8.
  explicit RowSlabs(size_t row_bytes);

  size_t row_bytes() const { return row_bytes_; }
  // The first of kExtentRows zero-filled rows that belong to the caller from now on.
  uint32_t TakeExtent();
  // REQUIRES: the row is part of an extent taken before.
  char* Row(uint32_t row) const {
    return slabs_[row >> shift_].load(std::memory_order_acquire) + static_cast<size_t>(row & ((1u << shift_) - 1)) * row_bytes_;
  }

 private:
  const size_t row_bytes_;
  const uint32_t shift_;  // log2 of the rows of a slab
  // As many as there can ever be, so that readers need no lock.
  const std::unique_ptr<std::atomic<char*>[]> slabs_;
  Mutex mutex_;
  std::vector<HugeBuffer> buffers_ ABSL_GUARDED_BY(mutex_);
  uint64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;  // rows
};

}  // namespace tessera
