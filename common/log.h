// What a daemon tells the person who looks after it: lines on stderr, each with time, level and who speaks.
#pragma once

#include <string>

#include "absl/strings/string_view.h"

namespace tessera {

// Names the speaker ("ps 0", "worker"). Call once, before other threads log.
void StartLog(const std::string& speaker);

// Thread-safe.
void LogInfo(absl::string_view message);
void LogWarning(absl::string_view message);
void LogError(absl::string_view message);

}  // namespace tessera
