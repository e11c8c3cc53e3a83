// From a job and its data to a plan: columns matched with rules, statistics and click rate learnt from the first rows, defaults chosen
// by data size, each with its reason.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/plan.pb.h"

namespace tessera {

// Reads the first rows (worker/plan/survey.h says how many) of the training files, the first row of every other file and the size of all.
// `origins` name where the job's given values come from; defaults are added to them. A csv job without `features` gets a rule for each
// column, guessed from its values, with the reason. The error is INVALID_ARGUMENT: all problems, each with file:line or key path, and what
// to do. Labels that are all of one class are only warned of. REQUIRES: job as LoadJob returns it.
// The result depends on (job, data) only, not on the machine, so that every run of one job plans alike. (training.threads is left unset
// when absent: it changes no result.)
absl::StatusOr<Plan> MakePlan(const Job& job, const std::vector<Origin>& origins);

// All that would stop the job, at once: missing files, columns without a rule, labels of another spelling, files that are not alike. Empty
// if MakePlan would succeed. The same requirement.
std::vector<std::string> CheckJob(const Job& job, const std::vector<Origin>& origins);

}  // namespace tessera
