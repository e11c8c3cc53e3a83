// Jobs that can and cannot be planned, with files of the tests' own.
#include "worker/plan/plan.h"

#include "gmock/gmock.h"
#include "tests/unit/plan/plan_fixture.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kRows[] =
    "click,age,city,note\n"
    "1,30,Rome,a\n"
    "0,41,Oslo,b\n"
    "0,,Rome,a\n";

class PlanTest : public PlanFixture {
 protected:
  // A job over small.csv.
  std::string Job(const std::string& data, const std::string& rest) {
    return absl::StrCat("data:\n  format: csv\n  train: {files: [small.csv]}\n  labels: [{column: click}]\n", data, rest);
  }
};

TEST_F(PlanTest, ColumnsThatNoRuleMatchesAreAnErrorWithRulesToPaste) {
  std::string rows = "click,age,city,user_id,flag,zip code\n";
  for (int i = 0; i < 30; ++i) absl::StrAppend(&rows, i % 2, ",", 20 + i, ",Rome,", 1000 + i, ",", i % 3, ",0", 1100 + i, "\n");
  Write("small.csv", rows);
  EXPECT_EQ(ErrorOf(Job("", "features:\n  - {match: [ci*], as: categorical}\n")),
            "job.yaml:6: features: no rule matches these columns; add to features:\n"
            "  - {match: [age], as: numeric}  # every value is a number, more than 20 different ones in the first 30 rows\n"
            "  - {match: [user_id], as: categorical}  # numbers, but the name says that they are ids\n"
            "  - {match: [flag], as: categorical}  # only 3 different numbers in the first 30 rows\n"
            "  - {match: [\"zip code\"], as: categorical}  # numbers with leading zeros, for example 01100");
}

TEST_F(PlanTest, TheFirstRuleThatMatchesDecides) {
  Write("small.csv", kRows);
  const Plan plan = PlanOf(Job("", "features: [{match: [n*], as: ignored}, {match: [age], as: numeric}, {match: [\"*\"], as: categorical}]\n"));
  EXPECT_THAT(plan.schema().fields(), ElementsAre("city", "age.bucket", "age.scaled"));
}

TEST_F(PlanTest, KeptWeightAndGroupColumnsAreFeaturesOnlyByTheirVeryName) {
  Write("small.csv", "click,id,w,session,city\n1,x,2,s,Rome\n0,y,1,t,Oslo\n");
  const std::string data = "  keep: [id, city]\n  group: session\n";
  JobFile file = Load(Job(data, "features: [{match: [city], as: categorical}, {match: [\"*\"], as: categorical}]\n"));
  file.job.mutable_data()->set_weight("w");  // no job file may have it yet
  const Plan plan = MakePlan(file.job, file.origins).value();
  EXPECT_THAT(plan.schema().fields(), ElementsAre("city"));
  EXPECT_EQ(FindColumn(plan, "id")->role(), Column::KEPT);
  EXPECT_EQ(FindColumn(plan, "w")->role(), Column::WEIGHT);
  EXPECT_EQ(FindColumn(plan, "session")->role(), Column::GROUP);
  EXPECT_TRUE(FindColumn(plan, "city")->keep());
  EXPECT_FALSE(FindColumn(plan, "click")->keep());
}

TEST_F(PlanTest, EveryProblemIsToldAtOnce) {
  Write("small.csv", kRows);
  Write("semicolons.csv", "click;age;city;note\n1;2;Rome;a\n");
  Write("short.csv", "click,age\n1,2\n");
  const JobFile file = Load(
      "data:\n  format: csv\n"
      "  train: {files: [small.csv, absent.csv, \"day_*.csv\", semicolons.csv]}\n"
      "  evaluate: {files: [small.csv, short.csv]}\n"
      "  labels: [{column: click}]\n  keep: [request]\n"
      "features:\n  - {match: [aeg], as: numeric}\n  - {match: [click, city], as: categorical}\n  - {match: [\"*\"], as: categorical}\n");
  std::string all;
  for (const std::string& problem : CheckJob(file.job, file.origins)) absl::StrAppend(&all, problem, "\n");
  EXPECT_THAT(all, HasSubstr("job.yaml:3: data.train.files: "));
  EXPECT_THAT(all, HasSubstr("absent.csv: No such file"));
  EXPECT_THAT(all, HasSubstr("day_*.csv: matches no file"));
  EXPECT_THAT(all, HasSubstr("small.csv is trained on too (data.train.files)"));
  EXPECT_THAT(all, HasSubstr("job.yaml:6: data.keep: no column is named request; there are click, age, city, note"));
  EXPECT_THAT(all, HasSubstr("job.yaml:8: features[0].match: no column is named aeg; did you mean age?"));
  EXPECT_THAT(all, HasSubstr("job.yaml:9: features[1].match: click is the label"));
  EXPECT_THAT(all, HasSubstr("semicolons.csv:1: "));
  EXPECT_THAT(all, HasSubstr("short.csv: has no column city, note, unlike "));
  const auto plan = MakePlan(file.job, file.origins);
  EXPECT_EQ(absl::StrCat(plan.status().message(), "\n"), all);
}

TEST_F(PlanTest, AGoodJobHasNoProblems) {
  Write("small.csv", kRows);
  const JobFile file = Load(Job("", ""));
  EXPECT_THAT(CheckJob(file.job, file.origins), IsEmpty());
}

TEST_F(PlanTest, AFileIsFoundInTrainAndEvaluateUnderAnotherName) {
  Write("small.csv", kRows);
  std::filesystem::create_symlink(folder_ / "small.csv", folder_ / "link.csv");
  EXPECT_THAT(ErrorOf(Job("  evaluate: {files: [link.csv]}\n", "")), HasSubstr("link.csv is trained on too"));
  std::filesystem::create_hard_link(folder_ / "small.csv", folder_ / "hard.csv");
  EXPECT_THAT(ErrorOf(Job("  evaluate: {files: [hard.csv]}\n", "")), HasSubstr("hard.csv is trained on too"));
}

TEST_F(PlanTest, AFileIsTrainedOnOnceWhateverItsPaths) {
  Write("small.csv", kRows);
  std::filesystem::create_symlink(folder_ / "small.csv", folder_ / "link.csv");
  std::filesystem::create_hard_link(folder_ / "small.csv", folder_ / "small_too.csv");
  const std::string job = "data:\n  format: csv\n  train: {files: [\"*.csv\"]}\n  labels: [{column: click}]\n";
  EXPECT_EQ(ErrorOf(job),
            "job.yaml:3: data.train.files: link.csv and small.csv are one file, whose rows would count twice; name one of them in "
            "data.train.exclude\n"
            "job.yaml:3: data.train.files: link.csv and small_too.csv are one file, whose rows would count twice; name one of them in "
            "data.train.exclude");
}

TEST_F(PlanTest, ReasonsAreUtf8WhateverTheCells) {
  Write("small.csv", absl::StrCat("click,a,b\n1,", std::string(39, 'x'), "\xc3\xbc\xc3\xbc,\xfc\n0,y,z\n"));
  const Plan plan = PlanOf(Job("", ""));
  EXPECT_THAT(FindOrigin(plan, "features[0].as")->reason(), HasSubstr(std::string(39, 'x') + "\""));
  EXPECT_THAT(FindOrigin(plan, "features[1].as")->reason(), HasSubstr("\"?\""));
}

TEST_F(PlanTest, TextInANumericColumnIsRefusedWithItsLine) {
  Write("small.csv", kRows);
  EXPECT_THAT(ErrorOf(Job("", "features: [{match: [city], as: numeric}, {match: [\"*\"], as: categorical}]\n")),
              HasSubstr("small.csv:2: column city: \"Rome\" is not a number; if the column is not a measure give it a rule"));
}

TEST_F(PlanTest, AnUnknownSpellingOfTheLabelIsRefusedWithItsLine) {
  Write("small.csv", kRows);
  const std::string job = "data:\n  format: csv\n  train: {files: [small.csv]}\n  labels: [{column: click, positive: [\"1\"], negative: [\"no\"]}]\n";
  EXPECT_THAT(ErrorOf(job), HasSubstr("small.csv:3: label \"0\" is neither positive (\"1\") nor negative (\"no\")"));
}

TEST_F(PlanTest, AMissingLabelIsAskedForWithTheColumns) {
  Write("small.csv", kRows);
  JobFile file = Load(Job("", ""));
  file.job.mutable_data()->clear_labels();
  const auto plan = MakePlan(file.job, file.origins);
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("data.labels: missing: which column is the label?"));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("The columns are click, age, city, note."));
}

TEST_F(PlanTest, LabelsOfOneClassAreOnlyWarnedOf) {
  Write("small.csv", "click,city\n0,Rome\n0,Oslo\n");
  const Plan plan = PlanOf(Job("", ""));
  EXPECT_EQ(plan.rows(), 2u);
  EXPECT_EQ(plan.click_rate(), 0.25) << "half a row: the bias it starts is finite";
}

TEST_F(PlanTest, EmptyAndConstantColumnsAreFine) {
  Write("small.csv", "click,empty,constant,city\n1,,5,Rome\n0,,5,Oslo\n");
  const Plan plan = PlanOf(Job("", "features: [{match: [empty, constant], as: numeric}, {match: [\"*\"], as: categorical}]\n"));
  for (const char* name : {"empty", "constant"}) EXPECT_GT(FindColumn(plan, name)->numeric().stddev(), 0) << name;
}

TEST_F(PlanTest, FilesWithoutRowsAreRefused) {
  Write("small.csv", "click,city\n");
  EXPECT_THAT(ErrorOf(Job("", "")), HasSubstr("job.yaml:3: data.train.files: no rows in small.csv"));
  Write("small.csv", "");
  EXPECT_THAT(ErrorOf(Job("", "")), HasSubstr("no rows in small.csv"));
}

TEST_F(PlanTest, AnEmptyPartAmongOthersIsFine) {
  Write("small.csv", kRows);
  Write("part.csv", "");
  const Plan plan = PlanOf("data:\n  format: csv\n  train: {files: [part.csv, small.csv]}\n  labels: [{column: click}]\n");
  EXPECT_EQ(plan.rows(), 3u);
  EXPECT_EQ(plan.train_size(), 2);
}

TEST_F(PlanTest, ABatchOfMoreValuesThanCanBeCountedIsRefused) {
  std::string header = "click", row = "1";
  for (int i = 0; i < 256; ++i) absl::StrAppend(&header, ",c", i), absl::StrAppend(&row, ",x");
  Write("small.csv", absl::StrCat(header, "\n", row, "\n"));
  EXPECT_EQ(ErrorOf(Job("", "training: {batch_size: 16777216}\n")),
            "job.yaml:5: training.batch_size: a batch of 16777216 rows has 4294967296 feature values, and fewer than 4294967295 can be looked up "
            "at once; take at most 16711935 rows");
}

TEST_F(PlanTest, AJobWithoutAnyFeatureIsRefused) {
  Write("small.csv", kRows);
  EXPECT_THAT(ErrorOf(Job("", "features: [{match: [\"*\"], as: ignored}]\n")), HasSubstr("features: no column is a feature"));
}

}  // namespace
}  // namespace tessera
