// Named places in the code where a test, or a drill on a real process, may make something happen: most of all, the end of the process.
#pragma once

#include <functional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera {

// Marks such a place. One relaxed load where nothing is set. Thread-safe.
void FaultPoint(const char* name);

// From now on every FaultPoint calls `act` with its name, from its own thread; an empty function ends that.
// Requires: no other thread is inside a FaultPoint, or enters one, during the call.
void SetFaultPoint(std::function<void(absl::string_view)> act);

// "NAME:N": at the N-th pass through NAME (N >= 1) this process sends itself SIGKILL, or the signal of "NAME:N:TERM" or "NAME:N:STOP".
// INVALID_ARGUMENT for anything else. Requires: as above.
absl::Status KillAt(absl::string_view spec);

}  // namespace tessera
