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
  // A slice's values, in chunk order. REQUIRES: slice < slices(), room for slice_floats(slice).
  void Read(uint32_t slice, float* values);
  // Sums over `sources` in their order (each a slice's gradients), then one update. REQUIRES: slice < slices().
  void Apply(uint32_t slice, absl::Span<const absl::Span<const float>> sources, const UpdateRule& rule);

  // Replaces a chunk's initial values. NOT_FOUND when it is none of these, ALREADY_EXISTS the second time, INVALID_ARGUMENT when its
  // size is another.
  absl::Status Load(const SavedChunk& chunk);
  // DATA_LOSS names a chunk that Load has not brought.
  absl::Status CheckAllLoaded() const;
  // As in RowStore.
  absl::Status WriteBack(StateDb* db);
  void ForgetWritten();
  uint64_t ContentDigest() const;

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
    uint64_t digest ABSL_GUARDED_BY(mutex) = 0;  // as last written back
    bool dirty ABSL_GUARDED_BY(mutex) = true;
    bool loaded ABSL_GUARDED_BY(mutex) = false;
  };

  explicit DenseStore(ThreadPool* pool) : pool_(pool) {}
  // Calls `each` with every chunk of a slice, on the pool.
  void ForSlice(uint32_t slice, absl::FunctionRef<void(Chunk*)> each);
  void ApplyChunk(Chunk* chunk, absl::Span<const absl::Span<const float>> sources, const StepFactors& factors, const UpdateRule& rule);
  std::string NameOf(const Chunk& chunk) const;

  ThreadPool* const pool_;
  std::vector<Variable> variables_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  size_t floats_ = 0;
  std::vector<size_t> slice_begin_{0};  // of each slice among all values, and the end
  HugeBuffer buffer_;
};

}  // namespace tessera
