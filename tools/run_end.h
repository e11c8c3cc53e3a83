// The end of a run as `train` and `cluster run` report it.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tools/command_line.h"
#include "tools/run_folder.h"
#include "tools/run_watch.h"

namespace tessera {

struct RunStart {
  const RunFolder& folder;
  const std::string& again;                // the command that was typed
  const std::vector<std::string>& moved;   // by --fresh
};

// Writes summary.json, prints the summary (or the JSON object), and returns the status with what to do about it:
// a refusal to go on says how to begin anew, a job that could not even be planned is a usage error, and what --fresh had
// moved aside is back in its place.
absl::Status ReportEnd(const absl::Status& status, const RunStart& start, RunWatch* watch, Output* output);

}  // namespace tessera
