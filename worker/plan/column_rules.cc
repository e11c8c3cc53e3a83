#include "worker/plan/column_rules.h"

#include <fnmatch.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/job/job_values.h"
#include "common/job/spelling.h"
#include "worker/plan/key_place.h"

namespace tessera {
namespace {

bool IsGlob(const std::string& pattern) { return pattern.find_first_of("*?[") != std::string::npos; }

bool Names(const FeatureRule& rule, const std::string& name) {
  return std::find(rule.match().begin(), rule.match().end(), name) != rule.match().end();
}

bool Matches(const FeatureRule& rule, const std::string& name) {
  return Names(rule, name) || std::any_of(rule.match().begin(), rule.match().end(), [&](const std::string& pattern) {
           return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
         });
}

template <class Names>
bool Contains(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "; did you mean age?" or the columns there are.
std::string Alternatives(const std::string& name, const std::vector<std::string>& names) {
  const std::string nearest = NearestWord(name, names);
  if (!nearest.empty()) return absl::StrCat("; did you mean ", nearest, "?");
  return absl::StrCat("; there are ", absl::StrJoin(names, ", "));
}

// Keys that name columns must name existing ones.
void CheckNames(const Job& job, const std::vector<Origin>& origins, const std::vector<std::string>& names, std::vector<std::string>* problems) {
  const auto check = [&](const std::string& key, const std::string& name) {
    if (Contains(names, name)) return;
    problems->push_back(absl::StrCat(KeyPlace(origins, key), ": no column is named ", name, Alternatives(name, names)));
  };
  for (const std::string& name : job.data().keep()) check("data.keep", name);
  if (!job.data().weight().empty()) check("data.weight", job.data().weight());
  if (!job.data().group().empty()) check("data.group", job.data().group());
  for (int i = 0; i < job.features_size(); ++i) {
    for (const std::string& pattern : job.features(i).match()) {
      if (!IsGlob(pattern)) check(absl::StrCat("features[", i, "].match"), pattern);
    }
  }
}

void CheckRules(const Job& job, const std::vector<Origin>& origins, const std::string& label, std::vector<std::string>* problems) {
  for (int i = 0; i < job.features_size(); ++i) {
    const FeatureRule& rule = job.features(i);
    const std::string key = absl::StrCat("features[", i, "]");
    if (rule.as() == FEATURE_KIND_UNSPECIFIED) {
      problems->push_back(absl::StrCat(KeyPlace(origins, key), ".as: missing; write as: categorical, numeric or ignored"));
    }
    if (rule.match_size() == 0) problems->push_back(absl::StrCat(KeyPlace(origins, key), ".match: missing; write names of columns or \"*\""));
    if (Names(rule, label) && rule.as() != ignored) {
      problems->push_back(absl::StrCat(KeyPlace(origins, key), ".match: ", label, " is the label; a model that sees it has nothing to learn"));
    }
  }
}

// The label's column: criteo's is its first.
std::string LabelName(const Job& job, const std::vector<std::string>& names) {
  if (job.data().format() == criteo) return names.empty() ? "" : names[0];
  return job.data().labels_size() > 0 ? job.data().labels(0).column() : "";
}

// Whether the name alone says what the column is.
bool SetFixedRole(const Job& job, Column* column) {
  if (column->name() == job.data().weight()) {
    column->set_role(Column::WEIGHT);
  } else if (column->name() == job.data().group()) {
    column->set_role(Column::GROUP);
  } else if (column->keep()) {
    column->set_role(Column::KEPT);
  } else if (job.data().format() == criteo) {
    FeatureRule rule;
    rule.set_as(column->name()[0] == 'I' ? numeric : categorical);
    SetFeature(rule, column);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void SetFeature(const FeatureRule& rule, Column* column) {
  switch (rule.as()) {
    case categorical:
      column->set_role(Column::CATEGORICAL);
      column->set_embedding(rule.embedding().empty() ? column->name() : rule.embedding());
      break;
    case numeric:
      column->set_role(Column::NUMERIC);
      *column->mutable_treat() = rule.treat();
      if (rule.treat_size() == 0) {
        column->add_treat(bucket);
        column->add_treat(scaled);
      }
      break;
    default:
      column->set_role(column->keep() ? Column::KEPT : Column::IGNORED);
  }
}

std::vector<int> MatchColumns(const Job& job, const std::vector<Origin>& origins, const std::vector<std::string>& names, Schema* schema,
                              std::vector<std::string>* problems) {
  const std::string label = LabelName(job, names);
  CheckNames(job, origins, names, problems);
  CheckRules(job, origins, label, problems);
  std::vector<int> unmatched;
  for (size_t i = 0; i < names.size(); ++i) {
    Column* column = schema->add_columns();
    column->set_name(names[i]);
    column->set_keep(Contains(job.data().keep(), names[i]));
    if (names[i] == label) {
      column->set_role(Column::LABEL);
      continue;
    }
    const bool is_set_aside = column->keep() || names[i] == job.data().weight() || names[i] == job.data().group();
    const auto rule = std::find_if(job.features().begin(), job.features().end(), [&](const FeatureRule& candidate) {
      return is_set_aside ? Names(candidate, names[i]) : Matches(candidate, names[i]);
    });
    if (rule != job.features().end()) {
      SetFeature(*rule, column);
    } else if (!SetFixedRole(job, column)) {
      unmatched.push_back(static_cast<int>(i));
    }
  }
  return unmatched;
}

}  // namespace tessera
