#include "tools/job_flags.h"

#include "CLI/App.hpp"
#include "tools/command_line.h"
#include "tools/shell_line.h"

namespace tessera {
void AddJobFlags(CLI::App* command, JobFlags* flags) {
  command->add_option("job", flags->job, "the job file (YAML)")->required()->type_name("JOB");
  command->add_option("--set", flags->sets, "change one value of the job: --set training.batch_size=512; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);  // or `--set K=V JOB` would take JOB for another
}

absl::StatusOr<JobFile> LoadJob(const JobFlags& flags) {
  absl::StatusOr<JobFile> job = LoadJob(flags.job, flags.sets);
  if (!job.ok()) return UsageError(job.status());
  return job;
}

std::string TypedAgain(const std::vector<std::string>& words, const JobFlags& flags) {
  std::vector<std::string> all = {"tessera"};
  all.insert(all.end(), words.begin(), words.end());
  all.push_back(flags.job);
  for (const std::string& set : flags.sets) all.insert(all.end(), {"--set", set});
  return ShellLine(all);
}

}  // namespace tessera
