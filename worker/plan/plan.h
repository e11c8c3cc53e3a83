// From a job and its data to a plan: columns matched with rules, statistics and click rate learnt from the first rows, defaults chosen
// by data size, each with its reason.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"

namespace tessera {

// Reads the first rows (at most kSurveyRows) of the training files and the size of all. `origins` name where the job's given values come
// from; defaults are added to them. Errors are INVALID_ARGUMENT with file:line or key path, and what to do.
// The result depends on (job, data) only, not on the machine, so that every run of one job plans alike. (training.threads is left unset
// when absent: it changes no result.)
absl::StatusOr<Plan> MakePlan(const Job& job, const std::vector<Origin>& origins);

// All that would stop the job, at once: missing files, columns without a rule, labels of another spelling, values out of range.
std::vector<std::string> CheckJob(const Job& job, const std::vector<Origin>& origins);

}  // namespace tessera
