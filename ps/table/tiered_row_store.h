// Rows in memory within a budget, all of them on disk: one server's part of a table.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/sightings.h"
#include "common/thread_pool.h"
#include "ps/table/eviction.h"
#include "ps/table/index_memory.h"
#include "ps/table/partition_mutex.h"
#include "ps/table/row_partition.h"
#include "ps/table/row_slabs.h"
#include "ps/table/row_store.h"
#include "ps/table/state_db.h"

namespace tessera {

struct TieredOptions {
  uint32_t first_partition = 0;
  uint32_t last_partition = kPartitions;
  uint64_t memory_bytes_max = 0;  // of rows, their index and queues; 0: no budget
  uint32_t admit_at = 0;          // sightings from which on an id has a row; 0 or 1: at once
  uint64_t sighting_bytes = 0;    // of one partition's counters
  EvictionRule eviction;
};

// What a look at the store costs nothing to tell.
struct TieredStatus {
  uint64_t memory_rows = 0;
  uint64_t memory_bytes = 0;
  uint64_t disk_rows = 0;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t dirty_rows = 0;
  uint64_t written_rows = 0;
};

// Thread-safe as RowStore says. Large batches are spread over the pool, partition by partition; a batch takes one partition's lock at a
// time, Read those of a few in their order, and none while it reads from disk, but for rows that left memory between Prepare and Apply.
//
// A row is in one of three places: in memory only (dirty, never written), in memory and on disk (clean or dirty), on disk only. Only Apply
// makes rows dirty, only a clean row leaves memory, so what is on disk of a row that is not in memory is the row.
class TieredRowStore : public RowStore {
 public:
  // Without a database rows stay in memory and nothing is ever written. Pool and database outlive the store.
  TieredRowStore(std::shared_ptr<const RowLayout> layout, ThreadPool* pool, StateDb* db, const TieredOptions& options);

  // Rows that fit a budget, all partitions together.
  static uint64_t RowsWithin(uint64_t memory_bytes, const RowLayout& layout);

  // Learns what the database holds; for one that was used before. REQUIRES: nothing was read or loaded yet.
  absl::Status Recover();
  // What was counted up to the record `lsn`; replaying records up to it counts nothing again, sightings included.
  void SetAccounting(const RowAccounting& accounting, uint64_t lsn);
  // Sighting counters of all partitions, back to back in order; empty without admission.
  std::string SightingBytes() const;
  absl::Status LoadSightings(uint32_t partition, absl::string_view bytes);
  // The highest period any update had.
  uint32_t period() const { return period_.load(std::memory_order_relaxed); }
  void SetPeriod(uint32_t period) { period_ = period; }

  const RowLayout& layout() const override { return *layout_; }
  absl::Status Read(const PartitionedIds& grouped, absl::Span<const uint64_t> ids, UnknownRow unknown, float* values,
                    std::vector<uint8_t>* absent) override;
  absl::Status Warm(const PartitionedIds& grouped, absl::Span<const uint64_t> ids) override;
  absl::StatusOr<PreparedUpdate> Prepare(absl::Span<const RowGradients> sources, const UpdateRule& rule, const RowFacts* logged) override;
  absl::Status Apply(const PreparedUpdate& update, const UpdateRule& rule) override;
  absl::Status Load(const SavedRow& row) override;
  absl::Status FinishLoad() override;
  absl::StatusOr<uint64_t> WriteBack(uint64_t lsn_max, uint64_t rows_max, BeforeWrite before) override;
  // As WriteBack, whatever record changed them: rows that are about to leave memory. Where there is room for more rows, none.
  absl::StatusOr<uint64_t> WriteLeaving(uint64_t rows_max, BeforeWrite before);
  // The same of rows that were not changed lately: about `rows_max` of them.
  absl::StatusOr<uint64_t> WriteCold(uint64_t rows_max, BeforeWrite before);
  uint64_t OldestDirty() const override;
  uint64_t dirty_rows() const override;
  absl::StatusOr<FoundRow> Get(uint64_t id) override;
  PartitionCounts CountRows() const override;
  uint64_t ContentDigest() const override;
  RowAccounting accounting() const override;

  // What the rule would remove from a partition at this moment, ascending.
  absl::StatusOr<std::vector<uint64_t>> FindEvicted(const EvictionRule& rule, const EvictionMoment& moment, uint32_t partition);
  TieredStatus status() const;
  // The highest lsn of any row that was ever written to disk.
  uint64_t highest_disk_lsn() const;
  // Whether some row is on disk only.
  bool spilled() const;

 private:
  // Read together: few enough that a read lets writers in soon, and that many threads have work.
  static constexpr uint32_t kPartitionsPerGate = 16;

  struct alignas(64) Partition {
    mutable PartitionMutex mutex;
    RowPartition memory ABSL_GUARDED_BY(mutex);
    std::unique_ptr<Sightings> sightings ABSL_GUARDED_BY(mutex);
    uint64_t rows ABSL_GUARDED_BY(mutex) = 0;        // in memory or on disk
    uint64_t updates ABSL_GUARDED_BY(mutex) = 0;     // calls of Apply that came here: what was read from disk before one may be old
    // What is on disk: written with the rows, in the same batch.
    uint64_t disk_rows ABSL_GUARDED_BY(mutex) = 0;
    uint64_t disk_digest ABSL_GUARDED_BY(mutex) = 0;
    uint64_t disk_lsn ABSL_GUARDED_BY(mutex) = 0;    // the highest of any row
    std::unique_ptr<StateDb::Batch> load ABSL_GUARDED_BY(mutex);

    bool spilled() const ABSL_SHARED_LOCKS_REQUIRED(mutex) { return rows > memory.live(); }
  };
  struct Sums;
  struct Miss;
  struct ReadCall;
  struct Taken;
  struct TakeProgress;
  struct FactsOfPartition;
  class Misses;

  ReadGate& GateOf(uint32_t p) { return gates_[(p + kPartitions - options_.first_partition) % kPartitions / kPartitionsPerGate]; }
  bool admits() const { return options_.admit_at > 1; }
  // body(first, last) for all partitions, on the pool where the ids are many, so many partitions at a time.
  void ForPartitions(size_t ids, uint32_t at_a_time, absl::FunctionRef<void(uint32_t, uint32_t)> body);
  void ForEachPartition(size_t ids, absl::FunctionRef<void(uint32_t)> body);

  // tiered_read.cc. The analysis of locks knows no sets of them. Partitions [first, last) of one gate.
  void ReadPartitions(uint32_t first, uint32_t last, const ReadCall& call, Misses* misses) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void CopyRow(const ReadCall& call, uint32_t position, uint64_t hash, MemoryRow* row, Misses* misses) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  void ReadUnknown(const Partition& partition, uint64_t id, UnknownRow unknown, float* out, uint8_t* absent)
      ABSL_SHARED_LOCKS_REQUIRED(partition.mutex);
  absl::Status ReadMisses(absl::Span<const uint64_t> ids, const Misses& misses, bool fill, bool must,
                          absl::FunctionRef<void(const Miss&, const SavedRow*)> body);
  // DecodeRow of what this store wrote; an error names the folder, NameRow makes it name the row too.
  absl::Status DecodeStored(absl::string_view key, absl::string_view value, std::vector<float>* floats, SavedRow* row) const;
  absl::Status NameRow(const absl::Status& status, uint64_t id) const;
  // One row from disk; false where it is not there.
  absl::StatusOr<bool> ReadStored(uint64_t id, std::vector<float>* floats, SavedRow* row) const;
  void Fill(Partition& partition, const SavedRow& row, uint64_t hash, bool must) ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);
  absl::Status FindMissing(const PartitionedIds& grouped, absl::Span<const uint64_t> ids, Misses* misses);

  // tiered_decide.cc
  absl::Status LoadForUpdate(PreparedUpdate* update);
  absl::Status Decide(PreparedUpdate* update, const UpdateRule& rule);
  absl::Status DecidePartition(uint32_t p, const PreparedUpdate& update, const EvictionMoment& moment, FactsOfPartition* facts);
  absl::StatusOr<bool> IsPresent(const Partition& partition, uint64_t id, bool not_on_disk) ABSL_SHARED_LOCKS_REQUIRED(partition.mutex);
  absl::Status CollectRows(const Partition& partition, uint32_t p, absl::FunctionRef<void(const EvictionRow&)> body)
      ABSL_SHARED_LOCKS_REQUIRED(partition.mutex);

  // tiered_apply.cc
  absl::Status ApplyPartition(uint32_t p, const PreparedUpdate& update, const FactsOfPartition& facts, const RowLayout::Update& optimizer,
                              const UpdateRule& rule);
  absl::Status AddSource(Partition& partition, uint32_t p, const RowGradients& source, const std::vector<uint8_t>& not_on_disk,
                         absl::Span<const uint64_t> refused, const UpdateRule& rule, Sums* sums)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);
  // kNone: replayed, and gone by a later record.
  absl::StatusOr<uint32_t> FindOrMake(Partition& partition, uint64_t id, uint64_t hash, bool not_on_disk, uint64_t lsn)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);
  // Into memory; false when it is not on disk.
  absl::StatusOr<bool> LoadRow(Partition& partition, uint64_t id, uint64_t hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);
  absl::Status EvictRow(Partition& partition, uint64_t id, uint64_t lsn, uint64_t first_lsn) ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);
  void CountSightings(Partition& partition, uint32_t p, const PreparedUpdate& update, uint64_t lsn)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);

  // tiered_write.cc
  using TakeRow = absl::FunctionRef<bool(RowPartition& memory, TakeProgress* progress, RowPartition::DirtyRow* dirty)>;
  absl::StatusOr<uint64_t> WriteRows(uint64_t rows_max, BeforeWrite before, TakeRow take);
  absl::Status TakeBatch(uint32_t p, size_t rows_max, TakeRow take, TakeProgress* progress, StateDb::Batch* batch, std::vector<Taken>* taken,
                         uint64_t* lsn);
  absl::Status PutRow(Partition* partition, MemoryRow* row, std::string* key, std::string* value, StateDb::Batch* batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition->mutex);
  void PutSummaries(absl::Span<const Taken> taken, StateDb::Batch* batch);
  void FinishBatch(absl::Span<const Taken> taken, bool written);
  void PutSummary(const Partition& partition, uint32_t p, StateDb::Batch* batch) ABSL_SHARED_LOCKS_REQUIRED(partition.mutex);

  const std::shared_ptr<const RowLayout> layout_;
  ThreadPool* const pool_;
  StateDb* const db_;
  const TieredOptions options_;
  RowSlabs slabs_;
  IndexMemory index_memory_;
  std::array<ReadGate, kPartitions / kPartitionsPerGate> gates_;
  const std::unique_ptr<Partition[]> partitions_;
  std::atomic<uint32_t> period_{0};
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
  std::atomic<uint64_t> written_rows_{0};
  mutable Mutex accounting_mutex_;
  RowAccounting accounting_ ABSL_GUARDED_BY(accounting_mutex_);
  uint64_t counted_lsn_ ABSL_GUARDED_BY(accounting_mutex_) = 0;
  uint32_t next_written_partition_ = 0;  // WriteBack goes round
};

}  // namespace tessera
