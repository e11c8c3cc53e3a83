// tessera job show, tessera job check.
#include <memory>

#include "CLI/App.hpp"
#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "common/status_macros.h"
#include "tools/commands.h"
#include "tools/dry_run.h"
#include "tools/job_flags.h"
#include "tools/json.h"
#include "tools/progress.h"
#include "worker/plan/plan.h"

namespace tessera {
namespace {

absl::Status Show(const JobFlags& flags, Output* output) {
  TESSERA_ASSIGN_OR_RETURN(const JobFile job, LoadJob(flags));
  const absl::StatusOr<Plan> plan = MakePlan(job.job, job.origins);
  if (!plan.ok()) return UsageError(plan.status());
  output->Text(FormatJob(plan->job(), {plan->origins().begin(), plan->origins().end()}));
  JsonWriter json;
  json.BeginObject().Key("job").Message(plan->job()).Key("origins").BeginArray();
  for (const Origin& origin : plan->origins()) json.Message(origin);
  json.EndArray().Key("fields").BeginArray();
  for (const std::string& field : plan->schema().fields()) json.String(field);
  json.EndArray().Key("rows").Number(plan->rows()).Key("rows_exact").Bool(plan->rows_exact()).EndObject();
  output->SetJson(json.Finish());
  return absl::OkStatus();
}

absl::Status Check(const JobFlags& flags, Output* output) {
  TESSERA_ASSIGN_OR_RETURN(const JobFile job, LoadJob(flags));
  TESSERA_RETURN_IF_ERROR(CheckAll(job));
  output->Text(absl::StrCat(flags.job, ": nothing stands in its way\n"));
  output->SetJson(JsonWriter().BeginObject().Key("problems").BeginArray().EndArray().EndObject().Finish());
  return absl::OkStatus();
}

}  // namespace

void AddJob(CommandLine* line) {
  line->Describe("job", "Look at a job file without running it");
  auto show = std::make_shared<JobFlags>();
  AddJobFlags(
      line->Add("job show", "The effective job, and where each value came from", [show](Output* output) { return Show(*show, output); }),
      show.get());
  auto check = std::make_shared<JobFlags>();
  AddJobFlags(line->Add("job check", "All that would stop the job, at once", [check](Output* output) { return Check(*check, output); }),
              check.get());
}

}  // namespace tessera
