// tessera cluster run, tessera cluster status.
#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/status_macros.h"
#include "common/stop_signal.h"
#include "tools/cluster_lines.h"
#include "tools/commands.h"
#include "tools/dry_run.h"
#include "tools/job_flags.h"
#include "tools/job_folders.h"
#include "tools/json.h"
#include "tools/local_cluster.h"
#include "tools/run_end.h"
#include "tools/run_watch.h"
#include "tools/shell_line.h"
#include "tools/text.h"
#include "worker/coordinator_client.h"

namespace tessera {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(250);
// A coordinator whose process runs but does not answer for this long is given up.
constexpr absl::Duration kAnswerMax = absl::Milliseconds(5 * kCallMs);

struct RunFlags {
  JobFlags job;
  uint32_t servers = 2;
  uint32_t workers = 2;
  bool print = false;
  bool fresh = false;
};

// How the job ended, if it has.
bool IsOver(const Report& report, absl::Status* status) {
  if (report.state() != "finished" && report.state() != "failed" && report.state() != "interrupted") return false;
  *status = report.code() == 0 ? absl::OkStatus() : absl::Status(static_cast<absl::StatusCode>(report.code()), report.message());
  return true;
}

// What a process that is gone means: its own report, if the coordinator has heard it, says more than its end.
absl::Status AfterLoss(const absl::Status& loss, RunWatch* watch) {
  absl::Status status;
  if (watch->Look().ok() && IsOver(watch->report(), &status)) return status;
  return loss;
}

// Until the job is over or a process is lost. The first SIGINT or SIGTERM ends the job with a checkpoint; a second one ends this process,
// and the kernel then ends the others.
absl::Status Watch(LocalCluster* cluster, RunWatch* watch, StopSignal* stop, Clock* clock) {
  absl::Time answered = clock->Now();
  bool interrupted = false;
  while (true) {
    const absl::Status looked = watch->Look();
    if (looked.ok()) answered = clock->Now();
    absl::Status status;
    if (looked.ok() && IsOver(watch->report(), &status)) return status;
    if (interrupted && !cluster->CoordinatorRunning()) {
      TESSERA_RETURN_IF_ERROR(cluster->CoordinatorEnd());
      return absl::CancelledError("interrupted; a checkpoint was saved");
    }
    if (absl::Status health = cluster->Health(); !health.ok() && !interrupted) return AfterLoss(health, watch);
    if (clock->Now() - answered > kAnswerMax) return looked;
    if (interrupted) {
      clock->SleepFor(kLookEvery);
    } else if (stop->WaitFor(kLookEvery)) {
      interrupted = true;
      watch->Tell("interrupted: saving a checkpoint (once more to end at once)");
      cluster->Interrupt();
    }
  }
}

absl::Status PrintLines(const ClusterLines& lines, Output* output) {
  JsonWriter json;
  json.BeginObject();
  const auto put = [&](const char* name, const std::vector<std::vector<std::string>>& commands) {
    json.Key(name).BeginArray();
    for (const std::vector<std::string>& words : commands) {
      json.String(ShellLine(words));
      output->Text(ShellLine(words) + "\n");
    }
    json.EndArray();
  };
  put("servers", lines.servers);
  put("workers", lines.workers);
  output->SetJson(json.EndObject().Finish());
  return absl::OkStatus();
}

absl::Status RunCluster(RunFlags flags, Output* output) {
  StopSignal stop;
  const std::string again =
      absl::StrCat(TypedAgain({"cluster", "run"}, flags.job), " --servers ", flags.servers, " --workers ", flags.workers);
  flags.job.sets.push_back(absl::StrCat("training.workers=", flags.workers));
  TESSERA_ASSIGN_OR_RETURN(const JobFile job, LoadJob(flags.job));
  TESSERA_ASSIGN_OR_RETURN(const ClusterLines lines, MakeClusterLines(flags.job, flags.servers, flags.workers));
  if (flags.print) return PrintLines(lines, output);
  Clock* const clock = Clock::Real();
  std::vector<std::string> moved;
  // Only to find the folders free and to move them; the first server holds the lock afterwards.
  TESSERA_RETURN_IF_ERROR(TakeFolders(FoldersOf(job.job), again, flags.fresh, clock, &moved).status());
  TESSERA_ASSIGN_OR_RETURN(const RunFolder folder, RunFolder::Create(job.job.name(), clock));
  LocalCluster cluster(clock);
  TESSERA_RETURN_IF_ERROR(cluster.Start(lines, folder));
  std::unique_ptr<CoordinatorApi> coordinator = MakeCoordinatorClient(lines.addresses[0]);
  RunWatch watch(coordinator.get(), &folder, clock);
  for (const std::string& path : moved) watch.Tell(absl::StrCat("earlier state moved to ", path));
  watch.Tell(absl::StrCat("started ", flags.servers, " servers and ", flags.workers, " workers; their logs are in ", folder.path()));
  absl::Status status = Watch(&cluster, &watch, &stop, clock);
  coordinator.reset();  // no more looks: a server that ends would wait for the connection to close
  // A job that lost a process cannot come to a common end: the other processes are killed with the cluster, and the last checkpoint counts.
  if (!absl::IsAborted(status)) {
    if (const absl::Status stopped = cluster.Stop(); status.ok()) status = stopped;
  }
  return ReportEnd(status, {folder, again, moved}, &watch, output);
}

absl::Status ShowStatus(const std::string& address, Output* output) {
  const std::unique_ptr<CoordinatorApi> coordinator = MakeCoordinatorClient(address);
  DescribeJobRequest request;
  request.set_plan(true);
  Report report;
  TESSERA_RETURN_IF_ERROR(coordinator->DescribeJob(request, &report));
  const double rate = report.seconds() > 0 ? static_cast<double>(report.rows()) / report.seconds() : 0;
  std::string text = absl::StrCat(report.job(), ": ", ProgressText(report, report.plan(), rate), "\n");
  if (!report.message().empty()) absl::StrAppend(&text, report.message(), "\n");
  if (report.plan().has_job()) absl::StrAppend(&text, PlanText(report.plan()), "\n");
  absl::StrAppend(&text, report.workers(), report.workers() == 1 ? " worker" : " workers", " joined\n");
  for (const EvaluationReport& evaluation : report.evaluations()) absl::StrAppend(&text, EvaluationText(evaluation), "\n");
  if (report.has_evaluation()) absl::StrAppend(&text, "at the end: ", ScoreText(report.evaluation()), "\n");
  if (!report.checkpoint().empty()) absl::StrAppend(&text, "checkpoint  ", report.checkpoint(), "\n");
  output->Text(text);
  output->SetJson(JsonWriter().BeginObject().Fields(report, {"plan"}).EndObject().Finish());
  return absl::OkStatus();
}

}  // namespace

void AddCluster(CommandLine* line) {
  line->Describe("cluster", "Daemons on this machine, and those that run elsewhere");
  auto flags = std::make_shared<RunFlags>();
  CLI::App* run = line->Add("cluster run", "Train a job with real daemons on this machine",
                            [flags](Output* output) { return RunCluster(*flags, output); });
  AddJobFlags(run, &flags->job);
  run->add_option("--servers", flags->servers, "parameter servers")->check(CLI::Range(1, 256))->capture_default_str()->type_name("N");
  run->add_option("--workers", flags->workers, "workers")->check(CLI::Range(1, 256))->capture_default_str()->type_name("N");
  run->add_flag("--print", flags->print, "only print the lines that start the daemons by hand");
  run->add_flag("--fresh", flags->fresh, "begin anew; earlier state and checkpoints are renamed to NAME.old-TIME");
  auto address = std::make_shared<std::string>();
  line->Add("cluster status", "How far the job of a running cluster is", [address](Output* output) { return ShowStatus(*address, output); })
      ->add_option("--coordinator", *address, "host:port of server 0")
      ->required()
      ->type_name("HOST:PORT");
}

}  // namespace tessera
