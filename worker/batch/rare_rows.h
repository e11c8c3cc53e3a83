// With admission on, an id that has not been seen often enough has no row: its occurrences use the rare row of their field's embedding,
// forward and backward.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "proto/plan.pb.h"
#include "worker/batch/batch.h"

namespace tessera {

// The rare row's id of each model field; empty where every id has a row. Fields of one embedding share theirs. Thread-safe: a pure function.
std::vector<uint64_t> RareIds(const Plan& plan);

// Turns the occurrences of the ids at `absent` (indices into unique_ids) over to the rare rows. Such an id stays in unique_ids, without
// occurrences; `sighted` says how many it had. A rare row that is itself named is left as it is. Occurrences stay in ascending order within
// each id, so sums over them are the same bits wherever they are made. Thread-compatible.
// REQUIRES: the batch was made with rare ids.
void UseRareRows(absl::Span<const uint32_t> absent, Batch* batch);

}  // namespace tessera
