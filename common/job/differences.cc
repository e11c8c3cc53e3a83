#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/job_file.h"
#include "common/job/job_values.h"

namespace tessera {
namespace {

using Words = std::vector<std::string>;
using Files = google::protobuf::RepeatedPtrField<InputFile>;

// Values that change no result, what is evicted from here on, and paths: files are told apart by what is in them.
bool MayDiffer(const std::string& key) {
  for (const char* free : {"training.threads", "training.workers", "training.patience", "training.refusals_max", "data.train.files", "data.train.exclude",
                           "data.evaluate.files", "data.evaluate.exclude"}) {
    if (key == free) return true;
  }
  return absl::StartsWith(key, "storage.") || absl::StartsWith(key, "checkpoint.") || absl::StartsWith(key, "eviction.");
}

void CompareJobs(const Job& now, const Job& was, std::vector<std::string>* lines) {
  std::map<std::string, std::string> old;
  for (JobValue& value : JobValues(was)) old[value.key] = std::move(value.text);
  for (const JobValue& value : JobValues(now)) {
    const auto it = old.find(value.key);
    const std::string before = it == old.end() ? "absent" : it->second;
    if (it != old.end()) old.erase(it);
    if (before != value.text && !MayDiffer(value.key)) lines->push_back(absl::StrCat(value.key, ": ", value.text, ", was ", before));
  }
  for (const auto& [key, text] : old) {
    if (!MayDiffer(key)) lines->push_back(absl::StrCat(key, ": absent, was ", text));
  }
}

void CompareFiles(const char* key, const Files& now, const Files& was, std::vector<std::string>* lines) {
  if (now.size() != was.size()) lines->push_back(absl::StrCat(key, ": ", now.size(), " files, was ", was.size()));
  for (int i = 0; i < std::min(now.size(), was.size()); ++i) {
    if (now[i].fingerprint() == was[i].fingerprint() && now[i].plain_bytes() == was[i].plain_bytes()) continue;
    if (now[i].path() == was[i].path()) {
      lines->push_back(absl::StrCat(now[i].path(), ": content changed"));
    } else {
      lines->push_back(absl::StrCat(key, ": file ", i + 1, " is ", now[i].path(), ", was ", was[i].path(), " with other content"));
    }
  }
}

Words List(const google::protobuf::RepeatedPtrField<std::string>& words) { return Words(words.begin(), words.end()); }

// A line for the first place where two lists of words differ.
void CompareWords(const char* what, const Words& now, const Words& was, std::vector<std::string>* lines) {
  for (size_t i = 0; i < std::max(now.size(), was.size()); ++i) {
    const std::string a = i < now.size() ? now[i] : "nothing", b = i < was.size() ? was[i] : "nothing";
    if (a != b) return lines->push_back(absl::StrCat(what, " ", i + 1, ": ", a, ", was ", b));
  }
}

// Layouts without learnt numbers: a restored run keeps those of its checkpoint.
Words TableWords(const Plan& plan) {
  Words words;
  for (const Segment& segment : plan.table().segments())
    words.push_back(absl::StrCat(plan.table().name(), ".", segment.name(), " of ", segment.dim()));
  return words;
}

Words VariableWords(const Plan& plan) {
  Words words;
  for (const VariableSpec& variable : plan.variables())
    words.push_back(absl::StrCat(variable.name(), " of ", absl::StrJoin(variable.shape(), " x ")));
  return words;
}

Words ColumnWords(const Plan& plan) {
  Words words;
  for (const Column& column : plan.schema().columns()) {
    words.push_back(absl::StrCat(column.name(), " (", Column::Role_Name(column.role()), ")"));
  }
  return words;
}

}  // namespace

std::vector<std::string> PlanDifferences(const Plan& now, const Plan& was) {
  std::vector<std::string> lines;
  CompareJobs(now.job(), was.job(), &lines);
  CompareFiles("data.train.files", now.train(), was.train(), &lines);
  CompareFiles("data.evaluate.files", now.evaluate(), was.evaluate(), &lines);
  // What follows from job and data differs by itself only where another version of the program planned.
  if (lines.empty()) {
    CompareWords("column", ColumnWords(now), ColumnWords(was), &lines);
    CompareWords("field", List(now.schema().fields()), List(was.schema().fields()), &lines);
    CompareWords("dense input", List(now.schema().dense()), List(was.schema().dense()), &lines);
    CompareWords("table segment", TableWords(now), TableWords(was), &lines);
    CompareWords("variable", VariableWords(now), VariableWords(was), &lines);
  }
  return lines;
}

}  // namespace tessera
