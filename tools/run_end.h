// The end of a run as `train` and `cluster run` report it.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "tools/command_line.h"
#include "tools/run_watch.h"

namespace tessera {

// Writes summary.json, prints the summary (or the JSON object), and returns the status with what to do about it:
// a refusal to go on says how to begin anew, a job that could not even be planned is a usage error. `again` is the command that was typed.
absl::Status ReportEnd(const absl::Status& status, const RunFolder& folder, const std::string& again, RunWatch* watch, Output* output);

}  // namespace tessera
