// The disk of a real tessera-ps is full, and has room again.
#pragma once

#include "tests/integration/crash_drill.h"

namespace tessera {

// What RunFullDisk returns where this process may not mount the small disk that it fills.
inline constexpr int kMayNotMount = 77;

// Pushes of several workers run into a full disk: they are refused with a reason, pulls go on, and so do pushes once there is room; a server
// killed while its disk was full has all it acknowledged. Returns the exit code of the program.
int RunFullDisk(const DrillOptions& options);

}  // namespace tessera
