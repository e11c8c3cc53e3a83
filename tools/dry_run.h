// What a job would do, without doing it.
#pragma once

#include "absl/status/status.h"
#include "common/job/job_file.h"
#include "tools/command_line.h"
#include "tools/job_folders.h"

namespace tessera {

// Checks the job, plans it, and says whether it would begin, go on, be done or be refused. With `fresh` it would
// begin, whatever is there. Writes nothing. Problems are usage errors; a
// refusal is an error.
absl::Status DryRun(const JobFile& job, const JobFolders& folders, bool fresh, Output* output);

// All problems of a job at once, as one usage error; OK if there is none.
absl::Status CheckAll(const JobFile& job);

}  // namespace tessera
