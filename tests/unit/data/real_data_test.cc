// Real files with their traps, counted. Those that may not be passed on lie outside the source tree: their tests skip where they are absent.
#include <cmath>
#include <numeric>

#include "tests/unit/data/test_input.h"
#include "worker/data/numeric.h"
#include "worker/data/survey_reader.h"

namespace tessera {
namespace {

struct Count {
  size_t rows = 0;
  size_t positives = 0;
};

std::string InTree(const std::string& name) { return std::string(TESSERA_SOURCE_DIR) + "/tests/data/" + name; }
std::string Outside(const std::string& name) { return std::string(TESSERA_DATA_DIR) + "/" + name; }

// A schema in which every column whose values are all numbers is numeric.
Plan PlanOf(const Data& data, const std::string& path) {
  Plan plan = EmptyPlan(data.format());
  *plan.mutable_job()->mutable_data() = data;
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(10000);
  google::protobuf::RepeatedPtrField<InputFile> files;
  *files.Add() = DescribeFile(path).value();
  const auto reader = SurveyReader::Open(data, files);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return plan;
  std::vector<std::vector<float>> values((*reader)->columns().size());
  std::vector<bool> is_number(values.size(), true);
  SurveyRow row;
  for (absl::StatusOr<bool> more = true;;) {
    more = (*reader)->Next(&row);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) break;
    for (size_t i = 0; i < values.size(); ++i) {
      float value;
      if (row.cells[i].missing) continue;
      if (ParseNumber(row.cells[i].text, &value)) {
        values[i].push_back(value);
      } else {
        is_number[i] = false;
      }
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const std::string& name = (*reader)->columns()[i];
    const bool is_label = data.format() == criteo ? i == 0 : name == data.labels(0).column();
    Column* column = AddColumn(&plan, name, is_label ? Column::LABEL : is_number[i] ? Column::NUMERIC : Column::CATEGORICAL);
    if (column->role() == Column::NUMERIC) *column->mutable_numeric() = BuildStatistics(values[i]);
  }
  NameModelInputs(plan.mutable_schema());
  return plan;
}

Count CountRows(const Plan& plan, const std::string& path) {
  const absl::StatusOr<Rows> rows = ReadAll(plan, {path});
  EXPECT_TRUE(rows.ok()) << rows.status();
  if (!rows.ok()) return {};
  for (const float scale : rows->scales) EXPECT_TRUE(std::isfinite(scale));
  return {rows->size(), static_cast<size_t>(std::accumulate(rows->labels.begin(), rows->labels.end(), 0.0))};
}

void ExpectCount(const Count& count, size_t rows, size_t positives) {
  EXPECT_EQ(count.rows, rows);
  EXPECT_EQ(count.positives, positives);
}

Data CsvData(const std::string& label, const std::vector<std::string>& positive = {}, const std::vector<std::string>& negative = {}) {
  Data data;
  data.set_format(csv);
  Label* spellings = data.add_labels();
  spellings->set_column(label);
  for (const std::string& text : positive) spellings->add_positive(text);
  for (const std::string& text : negative) spellings->add_negative(text);
  return data;
}

TEST(RealDataTest, Adult) {
  const Plan plan = PlanOf(CsvData("wage_class", {">50K"}, {"<=50K", "<=50K."}), InTree("adult/adult.data.csv.gz"));
  ASSERT_EQ(plan.schema().columns_size(), 15);
  EXPECT_EQ(plan.schema().columns(1).name(), "workclass");
  EXPECT_EQ(plan.schema().columns(0).role(), Column::NUMERIC);
  EXPECT_EQ(plan.schema().columns(1).role(), Column::CATEGORICAL);
  ExpectCount(CountRows(plan, InTree("adult/adult.data.csv.gz")), 32561, 7841);
  ExpectCount(CountRows(plan, InTree("adult/adult.test.csv.gz")), 16281, 3846);
}

TEST(RealDataTest, BankMarketing) {
  Data data = CsvData("y", {"yes"}, {"no"});
  data.mutable_csv()->set_separator(";");
  const Plan plan = PlanOf(data, InTree("bank-marketing/bank-full.train.csv.gz"));
  EXPECT_EQ(plan.schema().columns_size(), 17);
  const Count train = CountRows(plan, InTree("bank-marketing/bank-full.train.csv.gz"));
  const Count test = CountRows(plan, InTree("bank-marketing/bank-full.test.csv.gz"));
  ExpectCount({train.rows + test.rows, train.positives + test.positives}, 45211, 5289);
}

TEST(RealDataTest, OnlineShoppers) {
  const Plan plan = PlanOf(CsvData("Revenue"), InTree("online-shoppers/online-shoppers.train.csv.gz"));
  const Count train = CountRows(plan, InTree("online-shoppers/online-shoppers.train.csv.gz"));
  const Count test = CountRows(plan, InTree("online-shoppers/online-shoppers.test.csv.gz"));
  ExpectCount({train.rows + test.rows, train.positives + test.positives}, 12330, 1908);
}

TEST(RealDataTest, LibsvmSets) {
  Plan plan = LibsvmPlan({50, 124});
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(5000);
  ExpectCount(CountRows(plan, InTree("a9a/a9a.libsvm.gz")), 32561, 7841);
  ExpectCount(CountRows(plan, InTree("a9a/a9a.t.libsvm.gz")), 16281, 3846);
  ExpectCount(CountRows(plan, InTree("mushroom/agaricus_train.libsvm.gz")), 6513, 3140);
  ExpectCount(CountRows(plan, InTree("mushroom/agaricus_test.libsvm.gz")), 1611, 776);
  const absl::StatusOr<Rows> rows = ReadAll(plan, {InTree("mushroom/agaricus_test.libsvm.gz")});
  EXPECT_EQ(rows->ids.size(), 1611u * 22);
  EXPECT_TRUE(rows->scales.empty());
}

// Where further data is absent a test skips, but not where all tests must have run.
class OutsideDataTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::filesystem::exists(TESSERA_DATA_DIR)) return;
    const char* ci = std::getenv("CI");
    ASSERT_FALSE(ci != nullptr && std::string(ci) == "true") << TESSERA_DATA_DIR << " is absent";
    GTEST_SKIP() << TESSERA_DATA_DIR << " is absent; set TESSERA_DATA_DIR to the folder of further labelled data";
  }
};

TEST_F(OutsideDataTest, ClicksInCriteoLayout) {
  Data data;
  data.set_format(criteo);
  const Plan plan = PlanOf(data, Outside("click-prediction-small/click.criteo-layout.train.tsv.zst"));
  ExpectCount(CountRows(plan, Outside("click-prediction-small/click.criteo-layout.train.tsv.zst")), 31959, 5317);
  ExpectCount(CountRows(plan, Outside("click-prediction-small/click.criteo-layout.test.tsv.zst")), 7989, 1411);
}

TEST_F(OutsideDataTest, ClicksWithQuotedNumbers) {
  const std::string path = Outside("click-prediction-small/Click_prediction_small.csv.gz");
  ExpectCount(CountRows(PlanOf(CsvData("click"), path), path), 39948, 6728);
}

TEST_F(OutsideDataTest, BankWithLabelsOneAndTwo) {
  const std::string path = Outside("bank-marketing/bank-openml-labels-1-2.csv.gz");
  ExpectCount(CountRows(PlanOf(CsvData("Class", {"2"}, {"1"}), path), path), 45211, 5289);
}

TEST_F(OutsideDataTest, HiggsWithoutHeader) {
  Data data = CsvData("c0");
  data.mutable_csv()->set_header(false);
  const std::string path = Outside("higgs-tail/higgs-test.csv.gz");
  const Plan plan = PlanOf(data, path);
  EXPECT_EQ(plan.schema().columns_size(), 29);
  EXPECT_EQ(plan.schema().fields_size(), 56);
  EXPECT_EQ(CountRows(plan, path).rows, 2000u);
}

TEST_F(OutsideDataTest, CensusWithLeadingBlanks) {
  Data data = CsvData("c42", {"50000+."}, {"- 50000."});
  data.mutable_csv()->set_header(false);
  const std::string path = Outside("census-income/census-income.sample");
  ExpectCount(CountRows(PlanOf(data, path), path), 200, 12);
}

TEST_F(OutsideDataTest, TaobaoWithEmptyCells) {
  const std::string path = Outside("taobao-tiny/train_sample.csv");
  ExpectCount(CountRows(PlanOf(CsvData("clk"), path), path), 100, 4);
  EXPECT_EQ(CountRows(PlanOf(CsvData("clk"), path), Outside("taobao-tiny/test_sample.csv")).rows, 100u);
}

// A spreadsheet's round trip: five columns without a name, the label anywhere.
TEST_F(OutsideDataTest, NamelessColumnsAndAShiftedLabelAreToldApart) {
  const std::string path = Outside("dirty/bank-additional.five-empty-columns.crlf.csv.gz");
  google::protobuf::RepeatedPtrField<InputFile> files;
  *files.Add() = DescribeFile(path).value();
  const auto reader = SurveyReader::Open(CsvData("y", {"yes"}, {"no"}), files);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->columns().size(), 26u);
  EXPECT_EQ((*reader)->columns()[21], "c21");
  SurveyRow row;
  absl::StatusOr<bool> more = (*reader)->Next(&row);
  while (more.ok() && *more) more = (*reader)->Next(&row);
  EXPECT_NE(more.status().message().find("is neither positive (\"yes\") nor negative (\"no\")"), std::string::npos) << more.status();
}

}  // namespace
}  // namespace tessera
