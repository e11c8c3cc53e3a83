#include "ps/table/row_slabs.h"

#include <cassert>
#include <cstdio>
#include <cstdlib>

namespace tessera {
namespace {

// Slabs are at least this large, so that huge pages pay and the directory stays small; untouched pages cost nothing.
constexpr size_t kSlabBytes = 8u << 20;
constexpr uint32_t kSlabs = 1u << 16;

uint32_t ShiftFor(size_t row_bytes) {
  uint32_t shift = 6;
  while ((row_bytes << shift) < kSlabBytes) ++shift;
  // Every 32-bit row number must have a place in the directory.
  return shift < 16 ? 16 : shift;
}

}  // namespace

RowSlabs::RowSlabs(size_t row_bytes) : row_bytes_(row_bytes), shift_(ShiftFor(row_bytes)), slabs_(new std::atomic<char*>[kSlabs]()) {
  static_assert((1u << 6) == kExtentRows);
  assert(row_bytes % 8 == 0 && row_bytes > 0);
}

uint32_t RowSlabs::TakeExtent() {
  MutexLock lock(&mutex_);
  if (taken_ + kExtentRows > (1ull << 32)) {
    std::fprintf(stderr, "tessera: a table of one server is full: 2^32 rows; use more servers\n");
    std::abort();
  }
  const uint32_t first = static_cast<uint32_t>(taken_);
  taken_ += kExtentRows;
  if (const uint32_t slab = first >> shift_; slab == buffers_.size()) {
    buffers_.emplace_back(row_bytes_ << shift_);
    slabs_[slab].store(buffers_.back().data(), std::memory_order_release);
  }
  return first;
}

}  // namespace tessera
