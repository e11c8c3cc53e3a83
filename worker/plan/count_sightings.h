// How often each id stands in the training data: what admission goes by from the first step on (admission.count: before).
#pragma once

#include <atomic>
#include <string>

#include "absl/status/statusor.h"
#include "common/thread_pool.h"
#include "proto/plan.pb.h"

namespace tessera {

// Reads the training files once and counts every occurrence of every model field, but not those of held-out rows, as training does in an
// epoch. The counters (common/sightings.h) of all partitions stand back to back, admission.memory in all: the same bytes at any number of
// threads. A bad row is an error with file and line. CANCELLED once `stopping` (may be null) is true.
absl::StatusOr<std::string> CountSightings(const Plan& plan, ThreadPool* pool, const std::atomic<bool>* stopping);

}  // namespace tessera
