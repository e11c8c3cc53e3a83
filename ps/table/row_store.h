// The rows of one table on one server, in batches: the interface between the steps of a server and wherever rows are kept.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/partition.h"
#include "ps/table/partitioned_ids.h"
#include "ps/table/row_layout.h"

namespace tessera {

// What reading an id gives that has no row.
enum class UnknownRow {
  kInitial,  // the value its row would start with: training
  kZeros,    // evaluation and prediction: an id never trained contributes nothing. Such a read leaves no trace in memory either
};

// Gradient sums of some ids; an id may stand in several of these, and more than once in one.
struct RowGradients {
  const PartitionedIds* grouped;       // of `ids`
  absl::Span<const uint64_t> ids;
  absl::Span<const float> sums;        // ids x dim
  absl::Span<const uint32_t> counts;   // occurrences of each id; empty: 1 each
  // Ids that were seen but have no gradient. May be null.
  const PartitionedIds* sighted = nullptr;
  absl::Span<const uint64_t> sighted_ids;
  absl::Span<const uint32_t> sighted_counts;
};

// What an update decides about rows, on the table as it is before it: written to the log with it, and taken from there at replay.
struct RowFacts {
  uint64_t inserted = 0;               // ids that came without a row
  uint64_t refused = 0;                // those of them that got none
  std::vector<uint64_t> refused_ids;   // with a gradient, which is dropped
  std::vector<uint64_t> admitted_ids;  // without a gradient, made
  std::vector<uint64_t> evicted_ids;   // removed; none of the ids of the update
};

// An update whose rows are in memory and whose facts are known. Valid until the next Apply of the store.
struct PreparedUpdate {
  std::vector<RowGradients> sources;
  RowFacts facts;
  // For the ids, then the sighted ids, of each source: which of them are not on disk. Empty where that was not looked up.
  std::vector<std::vector<uint8_t>> not_on_disk;
};

// A row as it is saved and loaded.
struct SavedRow {
  uint64_t id = 0;
  RowHeader header;
  absl::Span<const float> floats;  // value and state
};

// A row as it is shown to people.
struct FoundRow {
  bool found = false;
  bool in_memory = false;
  RowHeader header;
  std::vector<float> floats;
  uint32_t sightings = 0;
};

using PartitionCounts = std::array<uint64_t, kPartitions>;

// inserted = rows + evicted + refused.
struct RowAccounting {
  uint64_t inserted = 0;
  uint64_t evicted = 0;
  uint64_t refused = 0;
};

// Thread-safe: reads overlap with everything; Prepare and Apply are called by one thread at a time, and so is WriteBack. Partition by
// partition, and for rows that are in memory, calls see all of another call or nothing of it; a caller that needs one version over
// everything keeps reads and updates apart itself. DATA_LOSS: a damaged row below memory, by id and file.
class RowStore {
 public:
  virtual ~RowStore() = default;

  virtual const RowLayout& layout() const = 0;
  // Writes ids.size() x dim floats, in the order of ids. Changes nothing but what is in memory. `absent`, where it is not null, gets a 1
  // for each id that has no row and is not admitted (reads for evaluation: that has no row), else a 0.
  virtual absl::Status Read(const PartitionedIds& grouped, absl::Span<const uint64_t> ids, UnknownRow unknown, float* values,
                            std::vector<uint8_t>* absent) = 0;
  // Brings rows into memory, where there is room.
  virtual absl::Status Warm(const PartitionedIds& grouped, absl::Span<const uint64_t> ids) = 0;

  // Makes an update ready: brings its rows into memory and decides its facts, or takes `logged` ones. Changes no row.
  virtual absl::StatusOr<PreparedUpdate> Prepare(absl::Span<const RowGradients> sources, const UpdateRule& rule,
                                                 const RowFacts* logged) = 0;
  // One update per id with its gradients summed over the sources in their order, so equal sources give equal bits; makes the rows that
  // are missing and admitted, removes those evicted. Rows whose lsn is not below rule.lsn are left alone.
  virtual absl::Status Apply(const PreparedUpdate& update, const UpdateRule& rule) = 0;
  // Both at once.
  absl::Status Update(absl::Span<const RowGradients> sources, const UpdateRule& rule) {
    absl::StatusOr<PreparedUpdate> update = Prepare(sources, rule, nullptr);
    return update.ok() ? Apply(*update, rule) : update.status();
  }

  // Puts a saved row in: ALREADY_EXISTS when the id has a row, INVALID_ARGUMENT when it has another number of floats. FinishLoad is
  // called when all are in.
  virtual absl::Status Load(const SavedRow& row) = 0;
  virtual absl::Status FinishLoad() = 0;

  // Called with an LSN before rows of it are written to disk: returns when its record is durable.
  using BeforeWrite = absl::FunctionRef<absl::Status(uint64_t lsn)>;
  // Writes rows that changed by records up to `lsn_max` to disk, oldest first, at most about `rows_max` of them.
  virtual absl::StatusOr<uint64_t> WriteBack(uint64_t lsn_max, uint64_t rows_max, BeforeWrite before) = 0;
  // The lowest LSN of a record that is not yet on disk in some row; kNothingDirty if there is none.
  static constexpr uint64_t kNothingDirty = std::numeric_limits<uint64_t>::max();
  virtual uint64_t OldestDirty() const = 0;
  virtual uint64_t dirty_rows() const = 0;

  virtual absl::StatusOr<FoundRow> Get(uint64_t id) = 0;
  virtual PartitionCounts CountRows() const = 0;
  // The sum (modulo 2^64) of ContentHash over all rows on disk.
  virtual uint64_t ContentDigest() const = 0;
  virtual RowAccounting accounting() const = 0;
};

}  // namespace tessera
