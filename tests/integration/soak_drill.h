// The soak of soak_load.h on a real tessera-ps, for a given time.
#pragma once

#include <cstdint>

#include "tests/integration/crash_drill.h"

namespace tessera {

// At the end the server is killed and started again, and all is compared once more. Prints what was done, how long pulls took and how much
// memory the server had. Returns the exit code of the program.
int RunSoak(const DrillOptions& options, uint64_t seconds);

}  // namespace tessera
