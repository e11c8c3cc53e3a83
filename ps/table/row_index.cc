#include "ps/table/row_index.h"

#include <cassert>

namespace tessera {
void RowIndex::Place(Slot slot) {
  uint32_t i = slot.tag & mask_;
  while (slots_[i].row_plus_1 != 0) i = (i + 1) & mask_;
  slots_[i] = slot;
}

void RowIndex::Grow() {
  static_assert(IndexMemory::kBytesMin % sizeof(Slot) == 0);
  const Slot* const old = slots_;
  const uint64_t old_slots = mask_ == 0 ? 0 : static_cast<uint64_t>(mask_) + 1;
  const uint32_t level = old == nullptr ? 0 : level_ + 1;
  slots_ = reinterpret_cast<Slot*>(memory_->Take(partition_, level));
  mask_ = static_cast<uint32_t>((IndexMemory::kBytesMin << level) / sizeof(Slot) - 1);
  for (uint64_t i = 0; i < old_slots; ++i) {
    if (old[i].row_plus_1 != 0) Place(old[i]);
  }
  if (old != nullptr) memory_->GiveBack(partition_, level_);
  level_ = level;
}

void RowIndex::Insert(uint64_t hash, uint32_t row) {
  assert(row < kNone);
  // At most 3/4 full: longer probes cost more than the memory.
  if (mask_ == 0 || static_cast<uint64_t>(size_ + 1) * 4 > (static_cast<uint64_t>(mask_) + 1) * 3) Grow();
  Place({Tag(hash), row + 1});
  ++size_;
}

void RowIndex::Erase(uint64_t hash, uint32_t row) {
  uint32_t hole = Tag(hash) & mask_;
  while (slots_[hole].row_plus_1 != row + 1) {
    assert(slots_[hole].row_plus_1 != 0);
    hole = (hole + 1) & mask_;
  }
  // What stands behind moves up, as if the row had never been here: no markers that would lengthen every later look-up.
  for (uint32_t i = (hole + 1) & mask_; slots_[i].row_plus_1 != 0; i = (i + 1) & mask_) {
    const uint32_t home = slots_[i].tag & mask_;
    if (((i - home) & mask_) < ((i - hole) & mask_)) continue;
    slots_[hole] = slots_[i];
    hole = i;
  }
  slots_[hole] = Slot{0, 0};
  --size_;
}

}  // namespace tessera
