// What a person reads when the data is not as the job says: file, line, what was found and wanted, and the likely cause.
#include "tests/unit/data/test_input.h"

namespace tessera {
namespace {

std::string CriteoLine(char separator, int columns) {
  std::string line = "1";
  for (int i = 1; i < columns; ++i) line += separator + std::string(i < 14 ? "3" : "ab");
  return line + "\n";
}

std::string CriteoError(const std::string& bytes, bool labels = true) {
  TestFolder folder;
  ReadOptions options;
  options.labels = labels;
  return ReadError(CriteoPlan(), folder.Write("day_0", bytes), options);
}

TEST(CriteoMessages, FieldCounts) {
  const std::string good = CriteoLine('\t', 40);
  EXPECT_EQ(CriteoError(CriteoLine(',', 40)), "day_0:1: 1 field, expected 40 (separator TAB); is the file comma separated?");
  EXPECT_EQ(CriteoError(good + good + CriteoLine(';', 12)), "day_0:3: 1 field, expected 40 (separator TAB); is the file semicolon separated?");
  EXPECT_EQ(CriteoError(CriteoLine('\t', 39)), "day_0:1: 39 fields, expected 40 (separator TAB); is the label, the first column, missing?");
  EXPECT_EQ(CriteoError(good + "\n" + CriteoLine('\t', 41)), "day_0:3: 41 fields, expected 40 (separator TAB)");
  EXPECT_EQ(CriteoError("hello\n"), "day_0:1: 1 field, expected 40 (separator TAB)");
  EXPECT_EQ(CriteoError(CriteoLine('\t', 38), false), "day_0:1: 38 fields, expected 40 (separator TAB)");
  EXPECT_EQ(CriteoError(CriteoLine('\t', 39), false), "");
}

TEST(CriteoMessages, LabelsAndNumbers) {
  EXPECT_EQ(CriteoError("2" + CriteoLine('\t', 40).substr(1)),
            "day_0:1: label \"2\" is neither 1 nor 0; write the spellings to data.labels[0].positive and .negative");
  EXPECT_EQ(CriteoError(CriteoLine('\t', 40).substr(1)),
            "day_0:1: the label is empty, which is neither 1 nor 0; write the spellings to data.labels[0].positive and .negative");
  std::string line = CriteoLine('\t', 40);
  line[2] = 'x';
  EXPECT_EQ(CriteoError(line), "day_0:1: column \"I1\": expected a number or a missing value (\"\"), found \"x\"; is the column categorical?");
}

std::string CsvError(const std::string& bytes, const std::string& separator = ",", bool labels = true) {
  TestFolder folder;
  Plan plan = CsvPlan({"age", "job", "y"}, "y", {"age"});
  plan.mutable_job()->mutable_data()->mutable_csv()->set_separator(separator);
  plan.mutable_job()->mutable_data()->mutable_labels(0)->add_positive("yes");
  plan.mutable_job()->mutable_data()->mutable_labels(0)->add_negative("no");
  ReadOptions options;
  options.labels = labels;
  return ReadError(plan, folder.Write("bank.csv", bytes), options);
}

TEST(CsvMessages, Headers) {
  EXPECT_EQ(CsvError("age,gr\xfcn,y\n58,x,no\n"),
            "bank.csv:1: header: the name of column 2, \"gr?n\", has a byte that is not UTF-8; save the header as UTF-8");
  EXPECT_EQ(CsvError("age;job;y\n58;manager;no\n"),
            "bank.csv:1: there is no column \"age\" (a feature of the job) among 1 column: age;job;y (separator ','); "
            "is the file semicolon separated?");
  EXPECT_EQ(CsvError("\"age\";\"job\";\"y\"\n58;\"manager\";\"no\"\n"),
            "bank.csv:1: header: field 1: its closing quote is followed by \";\", not by the separator (','); is the file semicolon separated?");
  EXPECT_EQ(CsvError("age\tjob\ty\n", ";"),
            "bank.csv:1: there is no column \"age\" (a feature of the job) among 1 column: age\tjob\ty (separator ';'); "
            "is the file tab separated?");
  EXPECT_EQ(CsvError("age,work,y\n58,manager,no\n"),
            "bank.csv:1: there is no column \"job\" (a feature of the job) among 3 columns: age, work, y (separator ',')");
  EXPECT_EQ(CsvError("age,job\n58,manager\n"), "bank.csv:1: there is no column \"y\" (the label) among 2 columns: age, job (separator ',')");
  EXPECT_EQ(CsvError("age,job\n58,manager\n", ",", false), "");
  EXPECT_EQ(CsvError("\nage,job,y,job\n"),
            "bank.csv:2: header: columns 2 and 4 are both named \"job\"; columns are looked up by name, so names must differ");
}

TEST(CsvMessages, Rows) {
  const std::string header = "age,job,y\n";
  EXPECT_EQ(CsvError(header + "58,manager,no\n58,manager\n"), "bank.csv:3: 2 fields, expected 3 (separator ',')");
  EXPECT_EQ(CsvError(header + "58;manager;no\n"), "bank.csv:2: 1 field, expected 3 (separator ','); is the file semicolon separated?");
  EXPECT_EQ(CsvError(header + "58,\"mana\nger\",no\n"),
            "bank.csv:2: field 2: its quote (\") is not closed before the end of the line; a value must not contain a line end. "
            "data.csv.quote: \"\" reads quotes as ordinary characters");
  EXPECT_EQ(CsvError(header + "58,\"mana\"ger,no\n"), "bank.csv:2: field 2: its closing quote is followed by \"g\", not by the separator (',')");
  EXPECT_EQ(CsvError(header + "young,manager,no\n"),
            "bank.csv:2: column \"age\": expected a number or a missing value (\"\", \"?\"), found \"young\"; is the column categorical?");
  EXPECT_EQ(CsvError(header + "nan,manager,no\n"),
            "bank.csv:2: column \"age\": expected a number or a missing value (\"\", \"?\"), found \"nan\"; is the column categorical?");
  EXPECT_EQ(CsvError(header + "58,manager,maybe\n"),
            "bank.csv:2: label \"maybe\" is neither positive (\"yes\") nor negative (\"no\"); "
            "write the spellings to data.labels[0].positive and .negative");
  EXPECT_EQ(CsvError(header + "58,manager,maybe\n", ",", false), "");
}

std::string LibsvmError(const std::string& bytes) {
  TestFolder folder;
  return ReadError(LibsvmPlan({10, 20}), folder.Write("rows", bytes));
}

TEST(LibsvmMessages, Rows) {
  EXPECT_EQ(LibsvmError("1 2:3\n2 2:3\n"),
            "rows:2: label \"2\" is neither 1 nor 0 (or -1); write the spellings to data.labels[0].positive and .negative");
  EXPECT_EQ(LibsvmError("2:3\n"),
            "rows:1: the label is empty, which is neither 1 nor 0 (or -1); write the spellings to data.labels[0].positive and .negative");
  EXPECT_EQ(LibsvmError("1 qid:5 2:3\n"),
            "rows:1: \"qid:5\": this is ranking data, whose rows belong to groups, which cannot be trained on yet; "
            "remove the qid tokens to train on single rows");
  for (const char* token : {"5", ":1", "5:", "5:x", "-5:1", "5:1:2", "5:inf", "99999999999999999999:1", "x:1"}) {
    EXPECT_EQ(LibsvmError(std::string("1 2:3 ") + token + "\n"), std::string("rows:1: expected index:value, found \"") + token + "\"");
  }
}

TEST(OpenMessages, ASchemaThatDoesNotFitIsRefused) {
  TestFolder folder;
  const std::string path = folder.Write("rows", "");
  Plan plan = CsvPlan({"y", "a"}, "y");
  plan.mutable_job()->mutable_data()->add_keep("request");
  EXPECT_EQ(ReadError(plan, path), "data.keep: there is no column \"request\"");
  plan.mutable_job()->mutable_data()->clear_keep();
  plan.mutable_job()->mutable_data()->clear_block_bytes();
  EXPECT_EQ(ReadError(plan, path), "data.block_bytes: must be greater than 0");
  Plan libsvm_plan = LibsvmPlan({3});
  libsvm_plan.mutable_job()->mutable_data()->add_keep("request");
  EXPECT_EQ(ReadError(libsvm_plan, path), "data.keep: libsvm rows have no named columns that could be kept");
}

}  // namespace
}  // namespace tessera
