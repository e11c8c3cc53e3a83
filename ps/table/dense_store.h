// The chunks of dense variables that live on one server.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/mutex.h"
#include "common/partition.h"
#include "common/thread_pool.h"
#include "proto/plan.pb.h"
#include "ps/optimizer/optimizer.h"
#include "ps/table/huge_buffer.h"
#include "ps/table/row_layout.h"
#include "ps/table/row_store.h"
#include "ps/table/shard_format.h"
#include "ps/table/state_db.h"

namespace tessera {

using VariableSpecs = google::protobuf::RepeatedPtrField<VariableSpec>;

// Thread-safe chunk by chunk, as RowStore is partition by partition. Chunks start with their initial values.
class DenseStore {
 public:
  // The chunks of partitions [first_partition, last_partition). The pool outlives the store. INVALID_ARGUMENT names the variable that
  // is wrong.
  static absl::StatusOr<std::unique_ptr<DenseStore>> Make(const VariableSpecs& variables, uint64_t seed, uint32_t first_partition,
                                                          uint32_t last_partition, ThreadPool* pool);

  size_t floats() const { return floats_; }  // of all chunks' values
  size_t chunks() const { return chunks_.size(); }
  // Slices of kDenseSliceChunks chunks, in which values and gradients travel; none where there are no chunks.
  uint32_t slices() const { return static_cast<uint32_t>(slice_begin_.size()) - 1; }
  size_t slice_floats(uint32_t slice) const { return slice_begin_[slice + 1] - slice_begin_[slice]; }
  // "hidden[17]": the variable's element whose gradient stands at float `at` of a slice. REQUIRES: at < slice_floats(slice).
  std::string NameAt(uint32_t slice, size_t at) const;
  // A slice's values, in chunk order. REQUIRES: slice < slices(), room for slice_floats(slice).
  void Read(uint32_t slice, float* values);
  // Sums over `sources` in their order (each a slice's gradients), then one update of the chunks whose lsn is below rule.lsn.
  // REQUIRES: slice < slices().
  void Apply(uint32_t slice, absl::Span<const absl::Span<const float>> sources, const UpdateRule& rule);

  // Replaces a chunk's initial values. NOT_FOUND when it is none of these, ALREADY_EXISTS the second time, INVALID_ARGUMENT when its
  // size is another.
  absl::Status Load(const SavedChunk& chunk);
  // DATA_LOSS names a chunk that Load has not brought.
  absl::Status CheckAllLoaded() const;
  // Writes the chunks that changed, or are not there yet, to `db`, as RowStore's WriteBack does; one call at a time. REQUIRES: `db` is the
  // same at every call, and what was loaded is in it.
  absl::Status WriteBack(StateDb* db, RowStore::BeforeWrite before);
  uint64_t OldestDirty() const;
  uint64_t highest_lsn() const;
  // Replaces initial values by those in `db`, where it has them.
  absl::Status Recover(const StateDb& db, uint32_t first_partition, uint32_t last_partition);
  // Of the chunks as they are on disk.
  uint64_t ContentDigest() const;
  uint64_t memory_bytes() const { return buffer_.bytes(); }

 private:
  struct Variable {
    std::string name;
    std::unique_ptr<ValueOptimizer> optimizer;
  };
  // Values and state have addresses of their own, guarded by the chunk's mutex too.
  struct Chunk {
    DenseChunk place;
    uint32_t number = 0;  // within its variable
    size_t offset = 0;    // of its values within its slice
    float* values = nullptr;
    size_t floats = 0;    // values and state
    Mutex mutex;
    uint64_t lsn ABSL_GUARDED_BY(mutex) = 0;
    uint64_t last_step ABSL_GUARDED_BY(mutex) = 0;
    uint64_t digest ABSL_GUARDED_BY(mutex) = 0;  // of what is on disk
    // The oldest record whose change is not on disk, or on its way there.
    uint64_t dirty_lsn ABSL_GUARDED_BY(mutex) = RowStore::kNothingDirty;
    uint64_t writing_lsn ABSL_GUARDED_BY(mutex) = RowStore::kNothingDirty;
    bool on_disk ABSL_GUARDED_BY(mutex) = false;
    bool loaded ABSL_GUARDED_BY(mutex) = false;
  };

  explicit DenseStore(ThreadPool* pool) : pool_(pool) {}
  // Calls `each` with every chunk of a slice, on the pool.
  void ForSlice(uint32_t slice, absl::FunctionRef<void(Chunk*)> each);
  void ApplyChunk(Chunk* chunk, absl::Span<const absl::Span<const float>> sources, const StepFactors& factors, const UpdateRule& rule);
  absl::Status Encode(Chunk* chunk, std::string* key, std::string* value) ABSL_EXCLUSIVE_LOCKS_REQUIRED(chunk->mutex);
  void FinishChunks(absl::Span<Chunk* const> chunks, bool written);
  std::string NameOf(const Chunk& chunk) const;

  ThreadPool* const pool_;
  std::vector<Variable> variables_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  size_t floats_ = 0;
  std::vector<size_t> slice_begin_{0};  // of each slice among all values, and the end
  HugeBuffer buffer_;
};

}  // namespace tessera
