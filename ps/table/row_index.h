// From id to row number, for one partition: open addressing with linear probing over 8-byte slots.
#pragma once

#include <cstdint>

#include "ps/table/index_memory.h"

namespace tessera {

// A slot holds 32 bits of the id's hash and the row's number; the id itself stands in the row, so any of the 2^64 ids may be stored.
// Growing needs no look at the rows. Thread-compatible.
class RowIndex {
 public:
  static constexpr uint32_t kNone = 0xffffffffu;

  // Before all else. The memory outlives this.
  void Init(IndexMemory* memory, uint32_t partition) {
    memory_ = memory;
    partition_ = partition;
  }
  // Brings the slot of `hash` (Mix64 of the id) closer.
  void Prefetch(uint64_t hash) const {
    if (mask_ != 0) __builtin_prefetch(&slots_[Tag(hash) & mask_]);
  }
  // The first row with these hash bits for which same(row) holds, or kNone.
  template <class Same>
  uint32_t Find(uint64_t hash, Same same) const {
    if (mask_ == 0) return kNone;
    for (uint32_t i = Tag(hash) & mask_;; i = (i + 1) & mask_) {
      const Slot slot = slots_[i];
      if (slot.row_plus_1 == 0) return kNone;
      if (slot.tag == Tag(hash) && same(slot.row_plus_1 - 1)) return slot.row_plus_1 - 1;
    }
  }
  // REQUIRES: the id of this hash and row is not in the index; row < kNone.
  void Insert(uint64_t hash, uint32_t row);
  // REQUIRES: the row is in the index under this hash.
  void Erase(uint64_t hash, uint32_t row);
  template <class Body>
  void ForEach(Body body) const {
    for (uint64_t i = 0; mask_ != 0 && i <= mask_; ++i) {
      if (slots_[i].row_plus_1 != 0) body(slots_[i].row_plus_1 - 1);
    }
  }
  uint32_t size() const { return size_; }
  size_t bytes() const { return mask_ == 0 ? 0 : (static_cast<size_t>(mask_) + 1) * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t tag;
    uint32_t row_plus_1;  // 0: free
  };

  // All ids of a partition agree in the top 8 bits of the hash; the lower 32 decide here.
  static uint32_t Tag(uint64_t hash) { return static_cast<uint32_t>(hash); }
  void Grow();
  void Place(Slot slot);

  IndexMemory* memory_ = nullptr;
  uint32_t partition_ = 0;
  uint32_t level_ = 0;  // of the block that holds the slots
  Slot* slots_ = nullptr;
  uint32_t mask_ = 0;  // slots - 1, or 0 while there are none
  uint32_t size_ = 0;
};

}  // namespace tessera
