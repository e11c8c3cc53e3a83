// The rows of one partition that are in memory: where each is, which changed since when, and which leaves memory next.
//
// A row leaves by S3-FIFO (Yang et al. 2023): new rows pass through a small queue and leave from there unless they are read again, so one
// pass over the data cannot push out the rows that are read all the time; a row that comes back soon after it left goes to the main queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "ps/table/row_index.h"
#include "ps/table/row_layout.h"
#include "ps/table/row_slabs.h"

namespace tessera {

// The start of a row in a slab; its floats follow.
struct MemoryRow {
  enum Flag : uint8_t {
    kUsed = 1,
    kDirty = 2,     // not on disk as it is
    kWriting = 4,   // on its way there
    kGone = 8,      // evicted; stays until its deletion is on disk
    kOnDisk = 16,   // there is a version of it on disk
    kQueued = 32,   // stands in a queue
  };

  uint64_t id;
  RowHeader header;
  uint64_t digest;               // ContentHash of the version on disk
  uint32_t touched;              // within one Apply: index of its gradient sum, plus 1
  uint8_t flags;
  std::atomic<uint8_t> heat;     // reads since it was last looked at by the queue, at most kHeatMax
  uint16_t writes;               // times that this place was taken to be written, modulo 2^16

  bool Is(Flag flag) const { return (flags & flag) != 0; }
  void Set(Flag flag) { flags |= flag; }
  void Clear(Flag flag) { flags = static_cast<uint8_t>(flags & ~flag); }
  float* floats() { return reinterpret_cast<float*>(this + 1); }
};
static_assert(sizeof(MemoryRow) == 64 - 8, "a row of 17 + 17 floats takes three cache lines");

// Owned by the store, which guards it: Find, Heat and counts by a shared lock, all else by an exclusive one.
class RowPartition {
 public:
  static constexpr uint32_t kNone = RowIndex::kNone;
  static constexpr uint8_t kHeatMax = 3;
  // Changed by a record of this number, or a later one, since it was last written.
  struct DirtyRow {
    uint32_t row;
    uint16_t writes;  // of the place at that time: what was written since is another matter
    uint64_t first_lsn;
  };

  // At most `rows_max` rows, but for those that must come in; 0: no limit. Slabs and index memory outlive this.
  void Init(uint32_t partition, RowSlabs* slabs, IndexMemory* index_memory, uint32_t rows_max);

  MemoryRow* At(uint32_t row) const { return reinterpret_cast<MemoryRow*>(slabs_->Row(row)); }
  const RowIndex& index() const { return index_; }
  uint32_t Find(uint64_t id, uint64_t hash) const {
    return index_.Find(hash, [&](uint32_t row) { return At(row)->id == id; });
  }
  static void Heat(MemoryRow* row) {
    const uint8_t heat = row->heat.load(std::memory_order_relaxed);
    if (heat < kHeatMax) row->heat.store(heat + 1, std::memory_order_relaxed);
  }

  // Rows in memory that are part of the table, so without those that are gone.
  uint32_t live() const { return index_.size() - gone_; }
  uint64_t bytes() const;

  // A place for an id that is not in memory; floats and header are the caller's to fill. Where memory is full a row that is clean makes
  // room; if there is none, kNone, or with `must` one row more than rows_max.
  uint32_t Insert(uint64_t id, uint64_t hash, bool must);
  // REQUIRES: the row is clean, or was never on disk and is not being written.
  void Remove(uint32_t row, uint64_t hash);
  // The row stops being part of the table; its place is kept while the disk still has it.
  void Evict(uint32_t row, uint64_t hash, uint64_t lsn, uint64_t first_lsn);
  // A row that was gone is part of the table again.
  void Revive(uint32_t row);

  void MarkDirty(uint32_t row, uint64_t first_lsn);
  // The oldest row that is dirty, if it is so since `lsn_max` or before; now it counts as being written.
  bool TakeDirty(uint64_t lsn_max, DirtyRow* dirty);
  // A dirty row that leaves memory soon, as it is not read and stands near the front of its queue; none while there is room for more rows.
  bool TakeLeaving(DirtyRow* dirty);
  // The next dirty row from place `*at` of their order on, which it moves, that was last changed by a record up to `lsn_max`.
  bool TakeCold(uint64_t lsn_max, size_t* at, DirtyRow* dirty);
  // About the record up to which that share of the dirty rows was last changed, from a sample.
  uint64_t LastChanged(double share) const;
  // What was taken is on disk; or it is not, and is dirty as before.
  void Written(const DirtyRow& taken);
  void NotWritten(const DirtyRow& taken);
  // The lowest first_lsn of rows that are dirty or being written; UINT64_MAX if there is none.
  uint64_t OldestDirty() const;
  uint64_t dirty() const { return dirty_count_; }

 private:
  struct Queue {
    std::deque<uint32_t> rows;
    size_t looked_at = 0;  // at the front, by TakeLeaving

    uint32_t Pop();
  };

  uint32_t Victim();
  bool TakeLeaving(Queue* queue, DirtyRow* dirty);
  void Take(uint32_t row, uint64_t first_lsn, DirtyRow* dirty);
  bool IsCurrent(const DirtyRow& entry) const;
  void Enqueue(uint32_t row, uint64_t hash);
  void Release(uint32_t row, uint64_t hash);
  uint32_t* Ghost(uint64_t hash) { return &ghosts_[(hash >> 32) % ghosts_.size()]; }

  RowSlabs* slabs_ = nullptr;
  uint32_t rows_max_ = 0;
  RowIndex index_;
  uint32_t next_row_ = 0;
  uint32_t extent_end_ = 0;
  uint32_t gone_ = 0;
  std::vector<uint32_t> free_;
  // Row numbers in order of arrival. A row that left otherwise is skipped when its turn comes.
  Queue small_;
  Queue main_;
  std::vector<uint32_t> ghosts_;  // hash bits of ids that left the small queue lately; empty before the first one did
  // By first_lsn, ascending. A dirty row has an entry with its first_lsn or a lower one; an entry may be of a row that is clean by now, or
  // was written since and is dirty again. Those taken out of order keep their entry until they are written.
  std::deque<DirtyRow> dirty_;
  std::deque<DirtyRow> writing_;  // taken, in that order; first_lsn is kNotTheOldest where the entry is still there
  uint64_t dirty_count_ = 0;      // rows with kDirty
};

}  // namespace tessera
