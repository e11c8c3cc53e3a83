// Durations, sizes and cadences as a job file writes them: one parser and one formatter each. Thread-safe: pure functions.
//
// Errors say what is wrong with the text and how to write it; the caller adds where it stands. Formatting and parsing round-trip.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"

namespace tessera {

// "500ms", "90s", "10m", "2h", "1d", with a fraction where it comes to whole milliseconds. In milliseconds, > 0.
absl::StatusOr<int64_t> ParseDurationMs(absl::string_view text);
std::string FormatDurationMs(int64_t ms);

// "4GiB", "100MB", "1.5KiB", "4096": KiB, MiB, GiB, TiB count in 1024, KB, MB, GB, TB in 1000. In bytes, > 0.
absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text);
std::string FormatByteSize(uint64_t bytes);

// "500 steps", "10m", "1 epoch", "0.5 epochs". Always > 0.
absl::StatusOr<Cadence> ParseCadence(absl::string_view text);
std::string FormatCadence(const Cadence& cadence);

// The shortest text that reads back as the same number.
std::string FormatNumber(double number);

}  // namespace tessera
