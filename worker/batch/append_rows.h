// Copies rows from where they were parsed to the batch they are trained in.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "worker/data/rows.h"

namespace tessera {

// One row of a run that outlives the reference.
struct RowRef {
  const Rows* rows;
  uint32_t row;
};

// Appends the rows in the order given. Like calling Rows::AppendRow for each, but with each column grown once and the sources, which lie
// all over a shuffle window, fetched ahead of their copy.
// REQUIRES: every run, and `out` unless it is empty, has the same layout (fields, dense width, offsets or none). Scales may be absent in some.
void AppendRows(absl::Span<const RowRef> refs, Rows* out);

}  // namespace tessera
