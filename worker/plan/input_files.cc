#include "worker/plan/input_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/utf8.h"
#include "worker/data/files.h"
#include "worker/data/input.h"
#include "worker/data/survey_reader.h"
#include "worker/plan/key_place.h"

namespace tessera {
namespace {

using Strings = google::protobuf::RepeatedPtrField<std::string>;
using Files = google::protobuf::RepeatedPtrField<InputFile>;

std::string Problem(const std::string& place, const absl::Status& status) { return absl::StrCat(place, ": ", status.message()); }

// Pattern by pattern, so that every bad one is told.
std::vector<std::string> Expand(const Strings& patterns, const Strings& exclude, const std::string& place, std::vector<std::string>* problems) {
  std::vector<std::string> good;
  for (const std::string& pattern : patterns) {
    const auto files = ExpandFiles({pattern}, {});
    if (files.ok()) {
      good.push_back(pattern);
    } else {
      problems->push_back(Problem(place, files.status()));
    }
  }
  if (good.empty()) return {};
  auto files = ExpandFiles(good, {exclude.begin(), exclude.end()});
  if (files.ok()) return *std::move(files);
  problems->push_back(Problem(place, files.status()));
  return {};
}

void Describe(const std::vector<std::string>& paths, const std::string& place, Files* files, std::vector<std::string>* problems) {
  for (const std::string& path : paths) {
    if (FindBadUtf8(path) != std::string::npos) {
      problems->push_back(absl::StrCat(place, ": ", ToUtf8(path), ": the name has a byte that is not UTF-8; rename the file"));
      continue;
    }
    absl::StatusOr<InputFile> file = DescribeFile(path);
    if (file.ok()) {
      *files->Add() = *std::move(file);
    } else {
      problems->push_back(Problem(place, file.status()));
    }
  }
}

// One file may be reached by several paths, through links of both kinds: this tells files apart.
using FileIdentity = std::pair<uint64_t, uint64_t>;

std::optional<FileIdentity> IdentityOf(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return std::nullopt;  // an error where it is described
  return FileIdentity(status.st_dev, status.st_ino);
}

// The first path to each of the files. A second one is a problem.
std::map<FileIdentity, std::string> TellApart(const std::vector<std::string>& paths, const std::string& place, const char* exclude,
                                              std::vector<std::string>* problems) {
  std::map<FileIdentity, std::string> first;
  for (const std::string& path : paths) {
    const std::optional<FileIdentity> identity = IdentityOf(path);
    if (!identity.has_value()) continue;
    const auto [seen, is_new] = first.emplace(*identity, path);
    if (is_new) continue;
    problems->push_back(absl::StrCat(place, ": ", seen->second, " and ", path, " are one file, whose rows would count twice; name one of them in ",
                                     exclude));
  }
  return first;
}

}  // namespace

void FindInputFiles(const std::vector<Origin>& origins, Plan* plan, std::vector<std::string>* problems) {
  const Data& data = plan->job().data();
  const std::string train_place = KeyPlace(origins, "data.train.files");
  const std::string evaluate_place = KeyPlace(origins, "data.evaluate.files");
  if (data.train().files_size() == 0) problems->push_back(absl::StrCat(train_place, ": missing; name the files to train on"));
  const auto train = Expand(data.train().files(), data.train().exclude(), train_place, problems);
  const auto evaluate = Expand(data.evaluate().files(), data.evaluate().exclude(), evaluate_place, problems);

  const auto trained = TellApart(train, train_place, "data.train.exclude", problems);
  for (const auto& [identity, path] : TellApart(evaluate, evaluate_place, "data.evaluate.exclude", problems)) {
    const auto same = trained.find(identity);
    if (same == trained.end()) continue;
    problems->push_back(absl::StrCat(evaluate_place, ": ", path, " is trained on too (data.train.files",
                                     same->second == path ? "" : absl::StrCat(": ", same->second),
                                     "); exclude it there: a score on rows the model has seen says nothing"));
  }
  Describe(train, train_place, plan->mutable_train(), problems);
  Describe(evaluate, evaluate_place, plan->mutable_evaluate(), problems);
}

namespace {

bool IsNeeded(const Column& column) {
  return column.role() == Column::LABEL || column.role() == Column::CATEGORICAL || column.role() == Column::NUMERIC;
}

void CheckFirstRow(const Plan& plan, const InputFile& file, std::vector<std::string>* problems) {
  Files alone;
  *alone.Add() = file;
  auto reader = SurveyReader::Open(plan.job().data(), alone);
  if (!reader.ok()) {
    problems->push_back(std::string(reader.status().message()));
    return;
  }
  SurveyRow row;
  const auto there = (*reader)->Next(&row);
  if (!there.ok()) {
    problems->push_back(std::string(there.status().message()));
    return;
  }
  const std::vector<std::string>& names = (*reader)->columns();
  if (!*there || names.empty()) return;
  std::vector<std::string> missing;
  for (const Column& column : plan.schema().columns()) {
    if (IsNeeded(column) && std::find(names.begin(), names.end(), column.name()) == names.end()) missing.push_back(column.name());
  }
  if (missing.empty()) return;
  problems->push_back(absl::StrCat(file.path(), ": has no column ", absl::StrJoin(missing, ", "), ", unlike ", plan.train(0).path(),
                                   "; its columns are ", absl::StrJoin(names, ", ")));
}

}  // namespace

void CheckFirstRows(const Plan& plan, std::vector<std::string>* problems) {
  // The first training file is read anyway.
  for (int i = 1; i < plan.train_size(); ++i) CheckFirstRow(plan, plan.train(i), problems);
  for (const InputFile& file : plan.evaluate()) CheckFirstRow(plan, file, problems);
}

}  // namespace tessera
