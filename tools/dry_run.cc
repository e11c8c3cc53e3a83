#include "tools/dry_run.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "ps/checkpoint/checkpoint_store.h"
#include "tools/json.h"
#include "tools/progress.h"
#include "worker/plan/plan.h"

namespace tessera {
namespace {

struct Prospect {
  std::string begins;  // begin, resume, finished
  std::string text;
};

absl::StatusOr<Prospect> LookAtCheckpoints(const Plan& plan, const JobFolders& folders, bool fresh) {
  const absl::StatusOr<CheckpointStore::Entry> newest = CheckpointStore(folders.checkpoints).Newest();
  if (absl::IsNotFound(newest.status())) return Prospect{"begin", "It would begin at step 0."};
  if (fresh) return Prospect{"begin", "It would begin at step 0, with earlier state and checkpoints renamed to NAME.old-TIME."};
  TESSERA_RETURN_IF_ERROR(newest.status());
  const std::vector<std::string> differences = PlanDifferences(plan, newest->manifest.plan());
  if (!differences.empty()) {
    return absl::FailedPreconditionError(absl::StrCat("It would be refused: the job or its data changed since ", newest->folder, "\n  ",
                                                      absl::StrJoin(differences, "\n  "),
                                                      "\nUndo the change, or begin anew with --fresh."));
  }
  if (newest->manifest.state().finished()) return Prospect{"finished", absl::StrCat("It is finished: ", newest->folder)};
  return Prospect{"resume", absl::StrCat("It would go on from ", newest->folder)};
}

}  // namespace

absl::Status CheckAll(const JobFile& job) {
  const std::vector<std::string> problems = CheckJob(job.job, job.origins);
  if (problems.empty()) return absl::OkStatus();
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat(problems.size(), problems.size() == 1 ? " problem" : " problems", "\n  ", absl::StrJoin(problems, "\n  "))));
}

absl::Status DryRun(const JobFile& job, const JobFolders& folders, bool fresh, Output* output) {
  absl::StatusOr<Plan> plan = MakePlan(job.job, job.origins);
  if (!plan.ok()) {
    TESSERA_RETURN_IF_ERROR(CheckAll(job));
    return UsageError(plan.status());
  }
  output->Text(FormatJob(plan->job(), {plan->origins().begin(), plan->origins().end()}));
  output->Text(absl::StrCat("\n", job.job.name(), ": ", PlanText(*plan), "\n"));
  TESSERA_ASSIGN_OR_RETURN(const Prospect prospect, LookAtCheckpoints(*plan, folders, fresh));
  output->Text(prospect.text + "\n");
  JsonWriter json;
  json.BeginObject().Key("would").String(prospect.begins).Key("rows").Number(plan->rows()).Key("plan").Message(*plan).EndObject();
  output->SetJson(json.Finish());
  return absl::OkStatus();
}

}  // namespace tessera
