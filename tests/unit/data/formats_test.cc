// What each format makes of its lines.
#include <cmath>

#include "common/feature_id.h"
#include "tests/unit/data/test_input.h"
#include "worker/data/numeric.h"

namespace tessera {
namespace {

std::string CriteoLine(const std::string& label, const std::string& integer, const std::string& category) {
  std::string line = label;
  for (int i = 0; i < 13; ++i) line += "\t" + integer;
  for (int i = 0; i < 26; ++i) line += "\t" + category;
  return line + "\n";
}

TEST(CriteoTest, CategoricalsComeFirstThenBucketAndScaledOfEachNumeric) {
  const Plan plan = CriteoPlan();
  EXPECT_EQ(plan.schema().fields_size(), 52);
  EXPECT_EQ(plan.schema().fields(0), "C1");
  EXPECT_EQ(plan.schema().fields(26), "I1.bucket");
  EXPECT_EQ(plan.schema().fields(27), "I1.scaled");
  TestFolder folder;
  const absl::StatusOr<Rows> rows = ReadAll(plan, {folder.Write("rows", CriteoLine("1", "7", "f87636c9"))});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ(rows->labels[0], 1);
  ASSERT_EQ(rows->ids.size(), 52u);
  ASSERT_EQ(rows->scales.size(), 52u);
  EXPECT_EQ(rows->ids[0], TokenHasher("C1").Id("f87636c9"));
  EXPECT_EQ(rows->ids[25], TokenHasher("C26").Id("f87636c9"));
  EXPECT_EQ(rows->scales[25], 1);
  EXPECT_EQ(rows->ids[26], TokenHasher("I1").BucketId(2));
  EXPECT_EQ(rows->scales[26], 1);
  EXPECT_EQ(rows->ids[27], TokenHasher("I1").ScaledId());
  EXPECT_EQ(rows->scales[27], ScaledValue(plan.schema().columns(1).numeric(), 7));
  EXPECT_TRUE(rows->offsets.empty());
}

TEST(CriteoTest, MissingIsATokenOfItsOwnInEachField) {
  TestFolder folder;
  const std::string text = CriteoLine("0", "", "") + CriteoLine("1", "", "") + CriteoLine("0", "0", "0");
  const absl::StatusOr<Rows> rows = ReadAll(CriteoPlan(), {folder.Write("rows", text)});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->ids[0], TokenHasher("C1").MissingId());
  EXPECT_EQ(rows->ids[26], TokenHasher("I1").MissingId());
  EXPECT_EQ(rows->ids[27], TokenHasher("I1").ScaledId());
  EXPECT_EQ(rows->scales[27], 0);
  for (int i = 1; i < 26; ++i) EXPECT_NE(rows->ids[i], rows->ids[0]);
  for (int i = 0; i < 26; ++i) EXPECT_NE(rows->ids[104 + i], rows->ids[i]) << "the text 0 is not missing";
  EXPECT_TRUE(std::equal(rows->ids.begin(), rows->ids.begin() + 52, rows->ids.begin() + 52));
}

TEST(CriteoTest, PredictionReadsFilesWithAndWithoutLabel) {
  TestFolder folder;
  const std::string with_label = CriteoLine("1", "-3", "ab");
  ReadOptions options;
  options.labels = false;
  const absl::StatusOr<Rows> rows = ReadAll(CriteoPlan(), {folder.Write("a", with_label), folder.Write("b", with_label.substr(2))}, options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->labels[0], 1);
  EXPECT_TRUE(std::isnan(rows->labels[1]));
  EXPECT_TRUE(std::equal(rows->ids.begin(), rows->ids.begin() + 52, rows->ids.begin() + 52));
  EXPECT_TRUE(std::equal(rows->scales.begin(), rows->scales.begin() + 52, rows->scales.begin() + 52));
}

TEST(CriteoTest, PredictionRefusesARowThatDiffersFromTheFilesFirst) {
  TestFolder folder;
  Plan plan = CriteoPlan();
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(16);  // the rows lie in blocks of their own
  const std::string with_label = CriteoLine("1", "-3", "ab");
  const std::string without_last = with_label.substr(0, with_label.size() - 4) + "\n";
  ReadOptions options;
  options.labels = false;
  EXPECT_EQ(ReadError(plan, folder.Write("rows", "\n" + with_label + without_last), options),
            "rows:3: 39 fields, expected 40 (separator TAB); the file's first row has 40, with the label, and every row must have as many");
  EXPECT_EQ(ReadError(plan, folder.Write("rows", with_label.substr(2) + with_label), options),
            "rows:2: 40 fields, expected 39 (separator TAB); the file's first row has 39, without the label, and every row must have as many");
  EXPECT_EQ(ReadError(plan, folder.Write("rows", "1\t2\n"), options), "rows:1: 2 fields, expected 40 (separator TAB)");
}

TEST(CriteoTest, IgnoredColumnsMayHoldAnything) {
  Plan plan = CriteoPlan();
  plan.mutable_schema()->mutable_columns(1)->set_role(Column::IGNORED);
  plan.mutable_schema()->mutable_columns(2)->set_role(Column::CATEGORICAL);
  NameModelInputs(plan.mutable_schema());
  TestFolder folder;
  std::string line = "1\tno number";
  for (int i = 0; i < 38; ++i) line += i == 0 ? "\ttext" : "\t5";
  const absl::StatusOr<Rows> rows = ReadAll(plan, {folder.Write("rows", line)});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->ids.size(), 27u + 22u);
  EXPECT_EQ(rows->ids[0], TokenHasher("I2").Id("text"));
}

TEST(CsvTest, ColumnsAreFoundByNameInEachFile) {
  TestFolder folder;
  const Plan plan = CsvPlan({"clk", "city", "price"}, "clk", {"price"});
  const std::string a = folder.Write("a.csv", "clk,city,price\n1,Rome,3\n");
  const std::string b = folder.Write("b.csv", "extra, price , city,clk\nx,3,Rome,1\n");
  const absl::StatusOr<Rows> rows = ReadAll(plan, {a, b});
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_TRUE(std::equal(rows->ids.begin(), rows->ids.begin() + 3, rows->ids.begin() + 3));
  EXPECT_EQ(rows->labels, (std::vector<float>{1, 1}));
}

TEST(CsvTest, QuotesBlanksAndMissingSpellings) {
  TestFolder folder;
  const Plan plan = CsvPlan({"y", "a", "b"}, "y");
  const std::string path = folder.Write("rows.csv",
                                        "y,a,b\n"
                                        "1, x ,\"x\"\n"
                                        "\"0\",?,\n"
                                        "1,\"a,\"\"b\"\"\",\" x\"\n"
                                        "1,5\" disc,\"\"\n");
  const absl::StatusOr<Rows> rows = ReadAll(plan, {path});
  ASSERT_TRUE(rows.ok()) << rows.status();
  const TokenHasher a("a");
  const TokenHasher b("b");
  EXPECT_EQ(rows->ids, (std::vector<uint64_t>{a.Id("x"), b.Id("x"), a.MissingId(), b.MissingId(), a.Id("a,\"b\""), b.Id(" x"),
                                              a.Id("5\" disc"), b.MissingId()}));
  EXPECT_TRUE(rows->scales.empty());
}

TEST(CsvTest, SharedEmbeddingsGiveOneIdAndNumbersAreTheirText) {
  TestFolder folder;
  Plan plan = CsvPlan({"y", "a", "b"}, "y");
  plan.mutable_schema()->mutable_columns(2)->set_embedding("a");
  const absl::StatusOr<Rows> rows = ReadAll(plan, {folder.Write("rows.csv", "y,a,b\n1,7,\"7\"\n1,7,007\n")});
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(rows->ids[0], rows->ids[1]);
  EXPECT_EQ(rows->ids[0], TokenHasher("a").Id(uint64_t{7}));
  EXPECT_NE(rows->ids[2], rows->ids[3]);
}

TEST(CsvTest, MissingIsATokenOfItsOwnInColumnsOfOneEmbeddingAndInANumericOfItsName) {
  TestFolder folder;
  Plan plan = CsvPlan({"y", "a", "b", "price"}, "y", {"price"});
  for (const int column : {1, 2}) plan.mutable_schema()->mutable_columns(column)->set_embedding("price");
  const absl::StatusOr<Rows> rows = ReadAll(plan, {folder.Write("rows.csv", "y,a,b,price\n1,,,\n")});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->ids, (std::vector<uint64_t>{TokenHasher("a").MissingId(), TokenHasher("b").MissingId(), TokenHasher("price").MissingId(),
                                              TokenHasher("price").ScaledId()}));
}

TEST(CsvTest, LabelsHaveSpellingsOrAreNumbers) {
  TestFolder folder;
  Plan plan = CsvPlan({"y", "a"}, "y");
  EXPECT_EQ(ReadAll(plan, {folder.Write("n.csv", "y,a\n1.000e+00,x\n0,x\n 1 ,x\n0.0,x\n")})->labels, (std::vector<float>{1, 0, 1, 0}));
  plan.mutable_job()->mutable_data()->mutable_labels(0)->add_positive(">50K");
  for (const char* text : {"<=50K", "<=50K."}) plan.mutable_job()->mutable_data()->mutable_labels(0)->add_negative(text);
  EXPECT_EQ(ReadAll(plan, {folder.Write("s.csv", "a,y\nx, >50K\nx, <=50K\nx,\"<=50K.\"\n")})->labels, (std::vector<float>{1, 0, 0}));
}

TEST(CsvTest, WithoutHeaderColumnsAreNumbered) {
  TestFolder folder;
  Plan plan = CsvPlan({"c0", "c1", "c2"}, "c1");
  plan.mutable_job()->mutable_data()->mutable_csv()->set_header(false);
  plan.mutable_job()->mutable_data()->mutable_csv()->set_separator("|");
  const absl::StatusOr<Rows> rows = ReadAll(plan, {folder.Write("rows.csv", "x|1|z\n")});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->ids, (std::vector<uint64_t>{TokenHasher("c0").Id("x"), TokenHasher("c2").Id("z")}));
  ReadOptions options;
  options.labels = false;
  const absl::StatusOr<Rows> unlabelled = ReadAll(plan, {folder.Write("rows.csv", "x|z\n")}, options);
  ASSERT_TRUE(unlabelled.ok()) << unlabelled.status();
  EXPECT_EQ(unlabelled->ids, rows->ids);
  EXPECT_EQ(ReadError(plan, folder.Write("rows.csv", "x|1|z\nx|z\n"), options),
            "rows.csv:2: 2 fields, expected 3 (separator '|'); the file's first row has 3, with the label, and every row must have as many");
}

TEST(CsvTest, PredictionNeedsNoLabelAndKeepsColumns) {
  TestFolder folder;
  Plan plan = CsvPlan({"y", "a", "id", "when"}, "y");
  for (const int column : {2, 3}) plan.mutable_schema()->mutable_columns(column)->set_role(Column::KEPT);
  NameModelInputs(plan.mutable_schema());
  for (const char* name : {"when", "id"}) plan.mutable_job()->mutable_data()->add_keep(name);
  ReadOptions options;
  options.labels = false;
  options.kept = true;
  const absl::StatusOr<Rows> rows = ReadAll(plan, {folder.Write("rows.csv", "id,a,when\n17,x,?\n18,y,\"no, never\"\n")}, options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->kept, (std::vector<std::string>{"?", "17", "no, never", "18"}));
  EXPECT_TRUE(std::isnan(rows->labels[0]));
  EXPECT_EQ(rows->ids.size(), 2u);
}

TEST(CsvTest, PredictionFromOneColumnTakesAnEmptyLineForAMissingValue) {
  TestFolder folder;
  ReadOptions options;
  options.labels = false;
  const absl::StatusOr<Rows> rows = ReadAll(CsvPlan({"y", "a"}, "y"), {folder.Write("rows.csv", "a\nx\n\nz\n\n")}, options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  const TokenHasher a("a");
  EXPECT_EQ(rows->ids, (std::vector<uint64_t>{a.Id("x"), a.MissingId(), a.Id("z")}));
}

TEST(CsvTest, DenseColumnsAreStandardised) {
  TestFolder folder;
  Plan plan = CsvPlan({"y", "a", "n"}, "y", {"n"});
  plan.mutable_schema()->mutable_columns(2)->clear_treat();
  plan.mutable_schema()->mutable_columns(2)->add_treat(dense);
  NameModelInputs(plan.mutable_schema());
  const absl::StatusOr<Rows> rows = ReadAll(plan, {folder.Write("rows.csv", "y,a,n\n1,x,-1000000\n0,x,\n0,x,1e30\n0,x,255\n0,x,256.5\n")});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->fields, 1u);
  EXPECT_EQ(rows->dense_width, 1u);
  EXPECT_TRUE(rows->scales.empty());
  const NumericStatistics& statistics = plan.schema().columns(2).numeric();
  EXPECT_EQ(rows->dense, (std::vector<float>{-8, 0, 8, ScaledValue(statistics, 255), ScaledValue(statistics, 256.5f)}));
}

TEST(LibsvmTest, IndicesFallIntoFieldsAndValuesScale) {
  TestFolder folder;
  const std::string text = "+1 3:1 12:0.5 9:2 5000000000:1 010:1 \n-1\n0 1:1\n";
  const absl::StatusOr<Rows> rows = ReadAll(LibsvmPlan({10, 100, 101}), {folder.Write("rows", text)});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->labels, (std::vector<float>{1, 0, 0}));
  const TokenHasher index("index");
  EXPECT_EQ(rows->ids, (std::vector<uint64_t>{index.Id("3"), index.Id("9"), index.Id("12"), index.Id("10"), index.Id("5000000000"),
                                              index.Id("1")}));
  EXPECT_EQ(rows->scales, (std::vector<float>{1, 2, 0.5f, 1, 1, 1}));
  EXPECT_EQ(rows->offsets, (std::vector<uint32_t>{0, 2, 4, 5, 5, 5, 5, 6, 6, 6}));
}

TEST(LibsvmTest, ScalesAreLeftOutWhereAllAreOne) {
  TestFolder folder;
  const absl::StatusOr<Rows> rows = ReadAll(LibsvmPlan({10}), {folder.Write("rows", "1 3:1 4:1.0\t# a comment\n1 3:1\n")});
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_TRUE(rows->scales.empty());
  EXPECT_EQ(rows->ids.size(), 3u);
}

TEST(LibsvmTest, LinesWithACommentAloneAreNoRows) {
  TestFolder folder;
  ReadOptions options;
  for (const bool labels : {true, false}) {
    options.labels = labels;
    const absl::StatusOr<Rows> rows = ReadAll(LibsvmPlan({10}), {folder.Write("rows", "# a: 1\n1 3:1\n \t#x\n\n0 4:1\n")}, options);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->labels, (std::vector<float>{1, 0}));
  }
  const absl::StatusOr<Rows> rows = ReadAll(LibsvmPlan({10}), {folder.Write("rows", "# a: 1\n3:1\n")}, options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->size(), 1u);
}

TEST(LibsvmTest, PredictionTakesAnEmptyLineForARowWithoutFeaturesWhereRowsHaveNoLabel) {
  TestFolder folder;
  ReadOptions options;
  options.labels = false;
  for (const uint64_t block_bytes : {1, 2, 3, 4, 5, 7, 100}) {
    Plan plan = LibsvmPlan({10});
    plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(block_bytes);
    const absl::StatusOr<Rows> rows = ReadAll(plan, {folder.Write("rows", "\n3:1\n\r\n\n5:1\n\n\r\n")}, options);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_EQ(rows->offsets, (std::vector<uint32_t>{0, 0, 1, 1, 1, 2})) << block_bytes;
    EXPECT_EQ(rows->keys, (std::vector<uint64_t>{0, 1, 5, 7, 8})) << block_bytes;
  }
}

TEST(LibsvmTest, PredictionReadsRowsWithAndWithoutLabel) {
  TestFolder folder;
  ReadOptions options;
  options.labels = false;
  const absl::StatusOr<Rows> rows = ReadAll(LibsvmPlan({10}), {folder.Write("rows", "3:1 4:1\n1 3:1 4:1\n")}, options);
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_TRUE(std::isnan(rows->labels[0]));
  EXPECT_EQ(rows->labels[1], 1);
  EXPECT_EQ(rows->offsets, (std::vector<uint32_t>{0, 2, 4}));
  EXPECT_EQ(rows->ids[0], rows->ids[2]);
}

}  // namespace
}  // namespace tessera
