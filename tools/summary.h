// What a run has come to, for scripts and for people.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "proto/coordinator.pb.h"
#include "proto/plan.pb.h"
#include "tools/run_folder.h"

namespace tessera {

// One JSON object: the report's fields, `examples_per_second` (null before the first step), `run` (the run's folder) and `error` (null if
// the job went well).
std::string SummaryJson(const Report& report, const absl::Status& status, const RunFolder& folder);
// A few lines: scores, rows, rate, where the checkpoint is, what to type next. `again` is the command that was typed.
std::string SummaryText(const Report& report, const Plan& plan, const RunFolder& folder, const std::string& again);

}  // namespace tessera
