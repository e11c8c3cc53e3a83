// YAML text into a job draft, by reflection over the schema: every key of the file is a field of job.proto, spelled the same. The only
// place that knows YAML.
#pragma once

#include <string>

#include "common/job/job_draft.h"

namespace tessera {

// Reads a whole file's text. What is wrong is refused in the draft, and reading goes on behind it. False when there was nothing to read:
// no YAML, or no map of keys.
bool ReadYamlText(const std::string& text, JobDraft* draft);
// Applies one "training.batch_size=512": the value is YAML and takes the place of what stood there.
void ReadYamlAssignment(const std::string& assignment, JobDraft* draft);

}  // namespace tessera
