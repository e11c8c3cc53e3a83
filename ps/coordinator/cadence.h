// When something that happens "every 500 steps", "every 10m" or "every 1 epoch" is due.
#pragma once

#include <cstdint>

#include "absl/time/time.h"
#include "proto/job.pb.h"

namespace tessera {

// How far training has come.
struct Progress {
  uint64_t steps = 0;
  double epochs = 0;  // whole ones, plus the part of the current one (below 1)
};

// Whether `every` becomes due between `before` and `after`: a multiple of it lies in (before, after], so that a resumed run does things
// at the same steps. A time is due when it has passed between `last` and `now`. An unset cadence is never due.
bool IsDue(const Cadence& every, const Progress& before, const Progress& after, absl::Time last, absl::Time now);

}  // namespace tessera
