// tessera train: the whole job in this one process.
#include <algorithm>
#include <memory>
#include <thread>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "common/log.h"
#include "common/status_macros.h"
#include "common/stop_signal.h"
#include "tools/commands.h"
#include "tools/dry_run.h"
#include "tools/embedded_run.h"
#include "tools/job_flags.h"
#include "tools/job_folders.h"
#include "tools/run_end.h"
#include "tools/run_watch.h"

namespace tessera {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(250);

struct TrainFlags {
  JobFlags job;
  bool dry_run = false;
  bool fresh = false;
  int threads = 0;
  uint32_t servers = 1;
};

EmbeddedRun::Options RunOptions(const TrainFlags& flags, const JobFile& job, const JobFolders& folders) {
  EmbeddedRun::Options options{.job = job, .folders = folders, .servers = flags.servers};
  const Training& training = job.job.training();
  options.workers = training.has_workers() ? training.workers() : 1;
  const uint64_t cores = std::max(1u, std::thread::hardware_concurrency());
  // A job made for a cluster may ask for more threads than this machine has cores; results do not depend on them.
  const uint64_t wanted = training.has_threads() ? uint64_t{training.threads()} * options.workers : cores;
  options.threads = flags.threads > 0 ? flags.threads : static_cast<int>(std::min(wanted, cores));
  return options;
}

// In one process a log of pushes has no use: what ends the server ends the job, which then goes on from its last checkpoint.
void PreferCheckpoints(JobFile* job) {
  if (job->job.storage().durability() != DURABILITY_UNSPECIFIED) return;
  job->job.mutable_storage()->set_durability(Durability::checkpoint);
  Origin& origin = job->origins.emplace_back();
  origin.set_key("storage.durability");
  origin.set_value("checkpoint");
  origin.set_source("default");
  origin.set_reason("one process goes on from its last checkpoint");
}

// Until the job is over; the first SIGINT or SIGTERM ends it with a checkpoint, a second one at once.
absl::Status Watch(EmbeddedRun* run, RunWatch* watch, StopSignal* stop) {
  bool interrupted = false;
  while (!run->Over(kLookEvery)) {
    TESSERA_RETURN_IF_ERROR(watch->Look());
    if (interrupted || !stop->WaitFor(absl::ZeroDuration())) continue;
    interrupted = true;
    watch->Tell("interrupted: saving a checkpoint (once more to end at once)");
    TESSERA_RETURN_IF_ERROR(run->coordinator()->Interrupt("interrupted"));
  }
  const absl::Status result = run->Result();
  TESSERA_RETURN_IF_ERROR(watch->Look());
  return result;
}

absl::Status Train(const TrainFlags& flags, Output* output) {
  StopSignal stop;
  TESSERA_ASSIGN_OR_RETURN(JobFile job, LoadJob(flags.job));
  PreferCheckpoints(&job);
  const JobFolders folders = FoldersOf(job.job);
  if (flags.dry_run) return DryRun(job, folders, flags.fresh, output);
  Clock* const clock = Clock::Real();
  const std::string again = TypedAgain({"train"}, flags.job);
  std::vector<std::string> moved;
  TESSERA_ASSIGN_OR_RETURN(const StateLock lock, TakeFolders(folders, again, flags.fresh, clock, &moved));
  TESSERA_ASSIGN_OR_RETURN(const RunFolder folder, RunFolder::Create(job.job.name(), clock));
  EmbeddedRun run(RunOptions(flags, job, folders), clock);
  TESSERA_RETURN_IF_ERROR(run.Start());
  RunWatch watch(run.coordinator(), &folder, clock);
  for (const std::string& path : moved) watch.Tell(absl::StrCat("earlier state moved to ", path));
  return ReportEnd(Watch(&run, &watch, &stop), {folder, again, moved}, &watch, output);
}

}  // namespace

void AddTrain(CommandLine* line) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = line->Add("train", "Train a job in this one process; go on where an earlier run was interrupted",
                                [flags](Output* output) { return Train(*flags, output); });
  AddJobFlags(command, &flags->job);
  command->add_flag("--dry-run", flags->dry_run, "check and plan the job, say what would be done, train nothing");
  command->add_flag("--fresh", flags->fresh, "begin anew; earlier state and checkpoints are renamed to NAME.old-TIME");
  command->add_option("--threads", flags->threads, "compute threads; default: all cores")->check(CLI::Range(1, 1024))->type_name("N");
  command->add_option("--servers", flags->servers, "shards to keep the model in; changes no result")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
}

}  // namespace tessera
