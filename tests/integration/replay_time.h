// How long a start takes after so much log.
#pragma once

#include <cstdint>

#include "tests/integration/crash_drill.h"

namespace tessera {

// Fills `bytes` of log with pushes that are not written back, kills the server, starts it, and prints how long it took from exec to the
// first answered pull, and what the server says about the replay. Returns the exit code of the program.
int MeasureReplay(const DrillOptions& options, uint64_t bytes);

}  // namespace tessera
