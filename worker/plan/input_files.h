// The files of a job: found, described, and looked into before anything is trained.
#pragma once

#include <string>
#include <vector>

#include "proto/plan.pb.h"

namespace tessera {

// Fills plan->train and plan->evaluate from plan->job. Appends all that is wrong to `problems`, each with its place: missing files, globs
// that match nothing, damaged files, a file that is trained and evaluated on; what is right is filled in all the same.
void FindInputFiles(const std::vector<Origin>& origins, Plan* plan, std::vector<std::string>* problems);

// Reads the header and the first row of every file but the first by itself, and appends what is wrong with them: "file:line: ...". A file
// that lacks the label or a feature of the schema is wrong too. REQUIRES: plan.job's csv settings and plan.schema's columns are filled in.
void CheckFirstRows(const Plan& plan, std::vector<std::string>* problems);

}  // namespace tessera
