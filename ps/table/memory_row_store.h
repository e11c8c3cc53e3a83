// Rows in memory: per partition an index over shared slabs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/mutex.h"
#include "common/thread_pool.h"
#include "ps/table/row_index.h"
#include "ps/table/row_slabs.h"
#include "ps/table/row_store.h"

namespace tessera {

// Thread-safe. Large batches are spread over the pool, partition by partition; a batch takes one partition's lock at a time.
class MemoryRowStore : public RowStore {
 public:
  // The pool outlives the store.
  MemoryRowStore(std::shared_ptr<const RowLayout> layout, ThreadPool* pool);

  const RowLayout& layout() const override { return *layout_; }
  absl::Status Read(const PartitionedIds& grouped, absl::Span<const uint64_t> ids, UnknownRow unknown, float* values) override;
  absl::Status Apply(absl::Span<const RowGradients> sources, const UpdateRule& rule) override;
  absl::Status Load(const SavedRow& row) override;
  absl::Status WriteBack(StateDb* db) override;
  void ForgetWritten() override;
  PartitionCounts CountRows() const override;
  uint64_t ContentDigest() const override;
  uint64_t MemoryBytes() const override;

 private:
  // The start of a row in a slab; its floats follow.
  struct MemoryRow {
    uint64_t id;
    RowHeader header;
    uint32_t dirty : 1;
    uint32_t touched : 31;  // within one Apply: index of its gradient sum, plus 1
    uint64_t digest;        // its part of the partition's
    float* floats() { return reinterpret_cast<float*>(this + 1); }
  };
  struct alignas(64) Partition {
    mutable SharedMutex mutex;
    RowIndex index ABSL_GUARDED_BY(mutex);
    uint32_t next_row ABSL_GUARDED_BY(mutex) = 0;
    uint32_t extent_end ABSL_GUARDED_BY(mutex) = 0;
    std::vector<uint32_t> dirty ABSL_GUARDED_BY(mutex);  // rows that the db does not hold as they are
    uint64_t digest ABSL_GUARDED_BY(mutex) = 0;
  };
  struct Sums;

  MemoryRow* RowAt(uint32_t row) const { return reinterpret_cast<MemoryRow*>(slabs_.Row(row)); }
  void Prefetch(const MemoryRow* row, size_t bytes) const;
  uint32_t Find(const Partition& partition, uint64_t id, uint64_t hash) const ABSL_SHARED_LOCKS_REQUIRED(partition.mutex);
  uint32_t Insert(Partition& partition, uint64_t id, uint64_t hash) ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);
  void MarkDirty(Partition& partition, uint32_t row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);
  void ReadPartition(uint32_t p, const PartitionedIds& grouped, absl::Span<const uint64_t> ids, UnknownRow unknown, float* values);
  void ApplyPartition(uint32_t p, absl::Span<const RowGradients> sources, const RowLayout::Update& update, const UpdateRule& rule);
  void AddSource(Partition& partition, uint32_t p, const RowGradients& source, Sums* sums)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(partition.mutex);
  // Calls body(partition) for all of them, on the pool if the work is large.
  void ForEachPartition(size_t ids, absl::FunctionRef<void(uint32_t)> body);

  const std::shared_ptr<const RowLayout> layout_;
  ThreadPool* const pool_;
  const std::unique_ptr<Partition[]> partitions_;
  RowSlabs slabs_;
};

}  // namespace tessera
