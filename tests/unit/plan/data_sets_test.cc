// Plans of the data sets of the project: columns, fields, statistics and defaults as their jobs want them.
#include <algorithm>
#include <functional>

#include "gmock/gmock.h"
#include "tests/unit/plan/plan_fixture.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class DataSetsTest : public PlanFixture {
 protected:
  // What every plan must have, whatever the data is.
  static void ExpectComplete(const Plan& plan) {
    EXPECT_GT(plan.schema().fields_size(), 0);
    EXPECT_GT(plan.table().segments_size(), 0);
    EXPECT_GT(plan.variables_size(), 0);
    EXPECT_GT(plan.click_rate(), 0);
    EXPECT_LT(plan.click_rate(), 1);
    EXPECT_TRUE(plan.job().training().has_batch_size());
    EXPECT_GE(plan.job().training().shares(), 1u);
    EXPECT_GT(plan.job().data().block_bytes().bytes(), 0u);
    EXPECT_GT(plan.job().seed(), 0u);
    for (const Column& column : plan.schema().columns()) {
      if (column.role() != Column::NUMERIC) continue;
      EXPECT_GT(column.numeric().stddev(), 0) << column.name();
      EXPECT_TRUE(std::is_sorted(column.numeric().edges().begin(), column.numeric().edges().end(), std::less_equal<float>())) << column.name();
    }
  }

  std::string AdultJob(const std::string& features) {
    return absl::StrCat("data:\n  format: csv\n  train: {files: [", ProjectData("adult/adult.data.csv.gz"), "]}\n  evaluate: {files: [",
                        ProjectData("adult/adult.test.csv.gz"),
                        "]}\n  labels: [{column: wage_class, positive: [\">50K\", \">50K.\"], negative: [\"<=50K\", \"<=50K.\"]}]\n", features);
  }
};

TEST_F(DataSetsTest, AdultWithRules) {
  const Plan plan = PlanOf(AdultJob(
      "features:\n"
      "  - {match: [fnlwgt], as: ignored}\n"
      "  - {match: [age, education_num, \"capital_*\", hours_per_week], as: numeric}\n"
      "  - {match: [native_country], as: categorical, embedding: country}\n"
      "  - {match: [\"*\"], as: categorical}\n"));
  ExpectComplete(plan);
  EXPECT_EQ(plan.rows(), 32561u);
  EXPECT_TRUE(plan.rows_exact());
  EXPECT_NEAR(plan.click_rate(), 0.2379, 1e-9);
  EXPECT_THAT(plan.schema().fields(),
              ElementsAre("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country", "age.bucket",
                          "age.scaled", "education_num.bucket", "education_num.scaled", "capital_gain.bucket", "capital_gain.scaled",
                          "capital_loss.bucket", "capital_loss.scaled", "hours_per_week.bucket", "hours_per_week.scaled"));
  EXPECT_EQ(FindColumn(plan, "native_country")->embedding(), "country");
  EXPECT_EQ(FindColumn(plan, "race")->embedding(), "race");
  EXPECT_EQ(FindColumn(plan, "fnlwgt")->role(), Column::IGNORED);
  EXPECT_EQ(FindColumn(plan, "wage_class")->role(), Column::LABEL);
  EXPECT_GT(FindColumn(plan, "age")->numeric().edges_size(), 10);
  EXPECT_THAT(plan.train(), SizeIs(1));
  EXPECT_THAT(plan.evaluate(), SizeIs(1));
  EXPECT_EQ(plan.train(0).codec(), gzip);
  EXPECT_EQ(plan.job().data().train().files(0), ProjectData("adult/adult.data.csv.gz"));
}

TEST_F(DataSetsTest, ColumnsWithoutRulesAreGuessedWithTheReason) {
  const Plan plan = PlanOf(AdultJob(""));
  ExpectComplete(plan);
  for (const char* name : {"age", "fnlwgt", "capital_gain", "capital_loss", "hours_per_week"}) {
    EXPECT_EQ(FindColumn(plan, name)->role(), Column::NUMERIC) << name;
  }
  for (const char* name : {"workclass", "education", "education_num", "race", "sex"}) {
    EXPECT_EQ(FindColumn(plan, name)->role(), Column::CATEGORICAL) << name;
  }
  EXPECT_THAT(plan.job().features(), SizeIs(14)) << "the guess becomes the job's rules, one for each column";
  EXPECT_THAT(plan.job().features(0).match(), ElementsAre("age"));
  ASSERT_NE(FindOrigin(plan, "features[0].as"), nullptr);
  EXPECT_EQ(FindOrigin(plan, "features[0].as")->value(), "numeric");
  EXPECT_EQ(FindOrigin(plan, "features[0].as")->reason(), "every value is a number, more than 20 different ones in the first 32561 rows");
  EXPECT_EQ(FindOrigin(plan, "features[1].as")->reason(), "not all values are numbers, for example \"State-gov\"");
  EXPECT_EQ(FindOrigin(plan, "features[4].as")->reason(), "only 16 different numbers in the first 32561 rows");
}

TEST_F(DataSetsTest, TwoPlansOfOneJobAreAlike) {
  EXPECT_EQ(PlanOf(AdultJob("")).SerializeAsString(), PlanOf(AdultJob("")).SerializeAsString());
}

TEST_F(DataSetsTest, BankWithSemicolonsAndQuotes) {
  const Plan plan = PlanOf(absl::StrCat("data:\n  format: csv\n  csv: {separator: \";\"}\n  train: {files: [",
                                        ProjectData("bank-marketing/bank-full.train.csv.gz"),
                                        "]}\n  labels: [{column: y, positive: [\"yes\"], negative: [\"no\"]}]\nfeatures:\n"
                                        "  - {match: [age, balance, day, duration, campaign, pdays, previous], as: numeric}\n"
                                        "  - {match: [\"*\"], as: categorical}\n"));
  ExpectComplete(plan);
  EXPECT_EQ(plan.rows(), 36169u);
  EXPECT_THAT(plan.schema().fields(), SizeIs(9 + 2 * 7));
  EXPECT_EQ(FindColumn(plan, "job")->role(), Column::CATEGORICAL) << "names come without their quotes";
  EXPECT_GT(plan.job().data().evaluate().holdout(), 0) << "without evaluation files a part is held out";
}

TEST_F(DataSetsTest, ShoppersWithMostlyZeros) {
  const Plan plan = PlanOf(absl::StrCat("data:\n  format: csv\n  train: {files: [", ProjectData("online-shoppers/online-shoppers.train.csv.gz"),
                                        "]}\n  labels: [{column: Revenue}]\n"));
  ExpectComplete(plan);
  EXPECT_EQ(plan.rows(), 9864u);
  EXPECT_EQ(FindColumn(plan, "PageValues")->role(), Column::NUMERIC);
  EXPECT_EQ(FindColumn(plan, "Month")->role(), Column::CATEGORICAL);
}

// The columns that were one-hot encoded are found again: 14 of the census, 22 of the mushrooms.
TEST_F(DataSetsTest, LibsvmFieldsAreFoundFromTheData) {
  const auto job = [](const std::string& file) { return absl::StrCat("data:\n  format: libsvm\n  train: {files: [", ProjectData(file), "]}\n"); };
  const Plan a9a = PlanOf(job("a9a/a9a.libsvm.gz"));
  ExpectComplete(a9a);
  EXPECT_EQ(a9a.rows(), 32561u);
  EXPECT_THAT(a9a.schema().fields(), ElementsAre("1..5", "6..13", "14..18", "19..34", "35..39", "40..46", "47..60", "61..66", "67..71", "72..73",
                                                 "74..75", "76..77", "78..82", "83.."));
  EXPECT_THAT(a9a.schema().libsvm_field_end(), ElementsAre(6, 14, 19, 35, 40, 47, 61, 67, 72, 74, 76, 78, 83, 124));
  const Plan mushroom = PlanOf(job("mushroom/agaricus_train.libsvm.gz"));
  ExpectComplete(mushroom);
  EXPECT_THAT(mushroom.schema().fields(), SizeIs(22));
}

TEST_F(DataSetsTest, ClicksInCriteosLayoutNeedNoRules) {
  const std::string path = absl::StrCat(TESSERA_DATA_DIR, "/click-prediction-small/click.criteo-layout.train.tsv.zst");
  TESSERA_NEEDS_FILE(path);
  const std::string job = absl::StrCat("data:\n  format: criteo\n  train: {files: [", path, "]}\n");
  const Plan plan = PlanOf(job);
  ExpectComplete(plan);
  EXPECT_EQ(plan.rows(), 31959u);
  EXPECT_THAT(plan.schema().columns(), SizeIs(40));
  EXPECT_THAT(plan.schema().fields(), SizeIs(26 + 2 * 13));
  EXPECT_EQ(plan.schema().fields(0), "C1");
  EXPECT_EQ(plan.train(0).codec(), zstd);
  EXPECT_EQ(FindColumn(plan, "I4")->numeric().edges_size(), 0) << "an empty column has no edges";
  EXPECT_GT(FindColumn(plan, "I1")->numeric().edges_size(), 0);

  const Plan ruled = PlanOf(absl::StrCat(job, "features: [{match: [\"I?\", \"I1?\"], as: categorical}, {match: [\"C*\"], as: ignored}]\n"));
  EXPECT_THAT(ruled.schema().fields(), SizeIs(13)) << "rules come before the fixed columns";
}

TEST_F(DataSetsTest, FilesWithoutAHeaderHaveNumberedColumns) {
  const std::string higgs = absl::StrCat(TESSERA_DATA_DIR, "/higgs-tail/higgs-test.csv.gz");
  TESSERA_NEEDS_FILE(higgs);
  const Plan plan = PlanOf(absl::StrCat("data:\n  format: csv\n  csv: {header: false}\n  train: {files: [", higgs,
                                        "]}\n  labels: [{column: c0}]\nfeatures: [{match: [\"c*\"], as: numeric, treat: [scaled, dense]}]\n"));
  ExpectComplete(plan);
  EXPECT_EQ(plan.rows(), 2000u);
  EXPECT_THAT(plan.schema().fields(), SizeIs(28));
  EXPECT_THAT(plan.schema().dense(), SizeIs(28));
}

TEST_F(DataSetsTest, DirtyFilesAreRefusedWithTheirLine) {
  const std::string path = absl::StrCat(TESSERA_DATA_DIR, "/dirty/bank-additional.five-empty-columns.crlf.csv.gz");
  TESSERA_NEEDS_FILE(path);
  const std::string error = ErrorOf(absl::StrCat("data:\n  format: csv\n  train: {files: [", path,
                                                 "]}\n  labels: [{column: y, positive: [\"yes\"], negative: [\"no\"]}]\n"));
  EXPECT_THAT(error, testing::HasSubstr("five-empty-columns.crlf.csv.gz:3: label \"4\" is neither positive"));
}

TEST_F(DataSetsTest, AFileOfAnotherFormatIsRefusedWithItsLine) {
  const std::string slots = absl::StrCat(TESSERA_DATA_DIR, "/slot-feasign/demo_10.slots.txt");
  TESSERA_NEEDS_FILE(slots);
  for (const char* format : {"libsvm", "criteo"}) {
    EXPECT_THAT(ErrorOf(absl::StrCat("data:\n  format: ", format, "\n  train: {files: [", slots, "]}\n")), testing::HasSubstr("demo_10.slots.txt:1: "));
  }
}

}  // namespace
}  // namespace tessera
