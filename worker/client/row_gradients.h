// The rows of a batch as a server is told of them.
#pragma once

#include <cstddef>

#include "absl/types/span.h"
#include "proto/parameter_server.pb.h"
#include "worker/batch/batch.h"
#include "worker/client/request_parts.h"

namespace tessera {

// Appends ids, occurrences and gradient sums of the batch's unique ids [part.begin, part.end). An id without occurrences is left out; one
// whose occurrences used a rare row goes to the sighted ids instead. A rare row is sent with at least Sightings::kCountMax occurrences:
// servers cannot tell it from other rows, and this admits it at once. An id takes no more bytes than id, count and `row_dim` floats.
// REQUIRES: rows.size() == batch.unique_ids.size() * row_dim. Thread-safe: a pure function.
void AppendRowGradients(const Batch& batch, const RequestPart& part, size_t row_dim, absl::Span<const float> rows, Gradients* out);

}  // namespace tessera
