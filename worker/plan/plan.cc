#include "worker/plan/plan.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/job_file.h"
#include "common/job/job_values.h"
#include "common/log.h"
#include "worker/batch/batch.h"
#include "worker/data/csv_split.h"
#include "worker/data/file_start.h"
#include "worker/data/schema_fields.h"
#include "worker/data/survey_reader.h"
#include "worker/model/model.h"
#include "worker/plan/column_rules.h"
#include "worker/plan/input_files.h"
#include "worker/plan/key_place.h"
#include "worker/plan/survey.h"

namespace tessera {
namespace {

// Rows that a column without a rule is guessed from, for the rule that is printed.
constexpr uint64_t kGuessRows = 10000;

using Use = ColumnSample::Use;

// One attempt to make a plan. All that is wrong is collected; each step does what it can in spite of earlier problems.
class Planner {
 public:
  Planner(const Job& job, const std::vector<Origin>& origins) : origins_(origins) {
    *plan_.mutable_job() = job;
    // Reading needs the defaults of the format, which do not depend on size; those that do are chosen once it is known.
    reading_ = job;
    std::vector<Origin> unused;
    FillDefaults(DataSize{}, &reading_, &unused);
  }

  // False if there are problems.
  bool Run() {
    FindInputFiles(origins_, &plan_, &problems_);
    if (plan_.train_size() == 0) return false;
    OpenReader();
    if (reader_ == nullptr) return false;
    LookAtColumns();
    if (!problems_.empty()) return false;
    LookAtRows();
    if (!problems_.empty()) return false;
    FillIn();
    return problems_.empty();
  }

  Plan& plan() { return plan_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Add(const std::string& key, const std::string& what) { problems_.push_back(absl::StrCat(KeyPlace(origins_, key), ": ", what)); }

  void OpenReader() {
    if (reading_.data().format() == csv && reading_.data().labels_size() == 0) return AskForLabel();
    auto reader = SurveyReader::Open(reading_.data(), plan_.train());
    if (reader.ok()) {
      reader_ = *std::move(reader);
    } else {
      problems_.push_back(std::string(reader.status().message()));
    }
  }

  void AskForLabel() {
    std::string columns;
    const auto splitter = CsvSplitter::Create(reading_.data().csv());
    if (splitter.ok() && splitter->has_header()) {
      const auto start = ReadFileStart(plan_.train(0), &*splitter);
      if (start.ok()) columns = absl::StrCat(" The columns are ", absl::StrJoin(start->header, ", "), ".");
    }
    Add("data.labels", absl::StrCat("missing: which column is the label? For example ",
                                    "labels: [{column: click, positive: [\"1\"], negative: [\"0\"]}].", columns));
  }

  void LookAtColumns() {
    Schema* schema = plan_.mutable_schema();
    schema->set_format(reading_.data().format());
    const std::vector<std::string>& names = reader_->columns();
    if (schema->format() != libsvm) unmatched_ = MatchColumns(plan_.job(), origins_, names, schema, &problems_);
    Plan reading = plan_;
    *reading.mutable_job() = reading_;
    CheckFirstRows(reading, &problems_);
    if (!unmatched_.empty() && plan_.job().features_size() > 0) ReportUnmatched();
  }

  // A rule to paste for every column without one.
  void ReportUnmatched() {
    const auto survey = Sample(kGuessRows, /*numbers=*/false);
    if (!survey.ok()) {
      problems_.push_back(std::string(survey.status().message()));
      return;
    }
    std::string text = absl::StrCat(KeyPlace(origins_, "features"), ": no rule matches ",
                                    unmatched_.size() == 1 ? "this column" : "these columns", "; add to features:");
    for (const int i : unmatched_) {
      const ColumnGuess guess = survey->columns[i].Guess();
      absl::StrAppend(&text, "\n  - {match: [", QuoteText(plan_.schema().columns(i).name()), "], as: ", FeatureKind_Name(guess.kind), "}  # ",
                      guess.reason);
    }
    problems_.push_back(text);
  }

  absl::StatusOr<Survey> Sample(uint64_t rows_max, bool numbers) {
    std::vector<ColumnSample> columns;
    uint64_t measured = 0;
    for (int i = 0; i < plan_.schema().columns_size(); ++i) {
      const Column& column = plan_.schema().columns(i);
      const bool guess = std::find(unmatched_.begin(), unmatched_.end(), i) != unmatched_.end();
      const bool is_numeric = numbers && column.role() == Column::NUMERIC;
      columns.emplace_back(column.name(), guess ? Use::kGuess : is_numeric ? Use::kNumbers : Use::kNothing);
      measured += guess || is_numeric;
    }
    if (measured > 0) rows_max = std::min(rows_max, std::max(kGuessRows, kSurveyNumbers / measured));
    return TakeSurvey(reader_.get(), std::move(columns), rows_max);
  }

  void LookAtRows() {
    auto survey = Sample(kSurveyRows, /*numbers=*/true);
    if (!survey.ok()) {
      problems_.push_back(std::string(survey.status().message()));
      return;
    }
    if (survey->rows == 0) {
      Add("data.train.files", absl::StrCat("no rows in ", plan_.train(0).path(), plan_.train_size() > 1 ? " and the other files" : ""));
      return;
    }
    WarnOfOneClass(*survey);
    Schema* schema = plan_.mutable_schema();
    if (schema->format() == libsvm) {
      survey->fields.Finish(schema);
    } else {
      AddGuessedRules(*survey);
      for (int i = 0; i < schema->columns_size(); ++i) {
        if (schema->columns(i).role() == Column::NUMERIC) *schema->mutable_columns(i)->mutable_numeric() = survey->columns[i].Statistics();
      }
      NameModelInputs(schema);
      if (schema->fields_size() == 0) {
        Add("features", "no column is a feature with an embedding; make one \"as: categorical\", or \"as: numeric\" and not only dense");
      }
    }
    plan_.set_click_rate(survey->click_rate);
    plan_.set_rows(EstimateRows(*survey, PlainBytes()));
    plan_.set_rows_exact(survey->complete);
  }

  void WarnOfOneClass(const Survey& survey) const {
    if (survey.positives != 0 && survey.positives != survey.rows) return;
    LogWarning(absl::StrCat("all of the first ", survey.rows, " labels are ", survey.positives == 0 ? "negative" : "positive",
                            ": nothing can be learnt from one class; check data.labels"));
  }

  // The job says nothing about its columns: what was seen becomes its rules, so that the effective job says it.
  void AddGuessedRules(const Survey& survey) {
    for (const int i : unmatched_) {
      Column* column = plan_.mutable_schema()->mutable_columns(i);
      const ColumnGuess guess = survey.columns[i].Guess();
      const std::string key = absl::StrCat("features[", plan_.job().features_size(), "]");
      FeatureRule* rule = plan_.mutable_job()->add_features();
      rule->add_match(column->name());
      rule->set_as(guess.kind);
      SetFeature(*rule, column);
      AddOrigin(key + ".match", absl::StrCat("[", QuoteText(column->name()), "]"), "no rule is given for this column");
      AddOrigin(key + ".as", FeatureKind_Name(guess.kind), guess.reason);
    }
  }

  void AddOrigin(const std::string& key, const std::string& value, const std::string& reason) {
    Origin origin;
    origin.set_key(key);
    origin.set_value(value);
    origin.set_source("default");
    origin.set_reason(reason);
    origins_.push_back(std::move(origin));
  }

  uint64_t PlainBytes() const {
    uint64_t bytes = 0;
    for (const InputFile& file : plan_.train()) bytes += file.plain_bytes();
    return bytes;
  }

  void FillIn() {
    FillDefaults(DataSize{plan_.rows(), PlainBytes()}, plan_.mutable_job(), &origins_);
    const uint64_t rows = plan_.job().training().batch_size(), fields = static_cast<uint64_t>(plan_.schema().fields_size());
    if (absl::Status status = CheckOccurrences(rows, rows * fields); !status.ok()) Add("training.batch_size", std::string(status.message()));
    plan_.mutable_origins()->Assign(origins_.begin(), origins_.end());
    if (absl::Status status = DescribeModel(&plan_); !status.ok()) problems_.push_back(std::string(status.message()));
  }

  Plan plan_;
  Job reading_;  // with the defaults that reading needs
  std::vector<Origin> origins_;
  std::vector<std::string> problems_;
  std::unique_ptr<SurveyReader> reader_;
  std::vector<int> unmatched_;  // columns without a rule
};

}  // namespace

absl::StatusOr<Plan> MakePlan(const Job& job, const std::vector<Origin>& origins) {
  Planner planner(job, origins);
  if (!planner.Run()) return absl::InvalidArgumentError(absl::StrJoin(planner.problems(), "\n"));
  return std::move(planner.plan());
}

std::vector<std::string> CheckJob(const Job& job, const std::vector<Origin>& origins) {
  Planner planner(job, origins);
  planner.Run();
  return planner.problems();
}

}  // namespace tessera
