// The rows of one table on one server, in batches: the interface between the steps of a server and wherever rows are kept.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "common/partition.h"
#include "ps/table/partitioned_ids.h"
#include "ps/table/row_layout.h"

namespace tessera {

class StateDb;

// What reading an id gives that has no row.
enum class UnknownRow {
  kInitial,  // the value its row would start with: training
  kZeros,    // evaluation and prediction: an id never trained contributes nothing
};

// Gradient sums of some ids; an id may stand in several of these, and more than once in one.
struct RowGradients {
  const PartitionedIds* grouped;  // of `ids`
  absl::Span<const uint64_t> ids;
  absl::Span<const float> sums;   // ids x dim
};

// A row as it is saved and loaded.
struct SavedRow {
  uint64_t id = 0;
  RowHeader header;
  absl::Span<const float> floats;  // value and state
};

using PartitionCounts = std::array<uint64_t, kPartitions>;

// Thread-safe: partition by partition, calls see all of another call or nothing of it. A caller that needs one version over all
// partitions keeps reads and updates apart itself. Errors are those of a store below memory; the memory store has none.
class RowStore {
 public:
  virtual ~RowStore() = default;

  virtual const RowLayout& layout() const = 0;
  // Writes ids.size() x dim floats, in the order of ids. Changes nothing.
  virtual absl::Status Read(const PartitionedIds& grouped, absl::Span<const uint64_t> ids, UnknownRow unknown, float* values) = 0;
  // One update per id with its gradients summed over `sources` in their order, so equal sources give equal bits; makes the rows
  // that are missing.
  virtual absl::Status Apply(absl::Span<const RowGradients> sources, const UpdateRule& rule) = 0;
  // ALREADY_EXISTS when the id has a row, INVALID_ARGUMENT when it has another number of floats.
  virtual absl::Status Load(const SavedRow& row) = 0;
  // Puts every row that `db` does not hold yet into it. A row counts as held once this has returned OK.
  virtual absl::Status WriteBack(StateDb* db) = 0;
  // The next WriteBack goes to an empty db and must write everything.
  virtual void ForgetWritten() = 0;

  virtual PartitionCounts CountRows() const = 0;
  // The sum (modulo 2^64) of ContentHash over all rows as they were last written back.
  virtual uint64_t ContentDigest() const = 0;
  virtual uint64_t MemoryBytes() const = 0;
};

}  // namespace tessera
