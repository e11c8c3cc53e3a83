// The arguments every command with a job has, and the job they name.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/job/job_file.h"

namespace CLI {
class App;
}

namespace tessera {

struct JobFlags {
  std::string job;
  std::vector<std::string> sets;
};

// Declares JOB and --set. `flags` outlives the command.
void AddJobFlags(CLI::App* command, JobFlags* flags);
// Reads the job; errors are usage errors.
absl::StatusOr<JobFile> LoadJob(const JobFlags& flags);
// "tessera WORDS... JOB --set ...": the command as typed, for messages that say what to type next.
std::string TypedAgain(const std::vector<std::string>& words, const JobFlags& flags);

}  // namespace tessera
