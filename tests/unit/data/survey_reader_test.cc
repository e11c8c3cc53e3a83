#include "worker/data/survey_reader.h"

#include "tests/unit/data/test_input.h"
#include "worker/data/files.h"

namespace tessera {
namespace {

class SurveyReaderTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<SurveyReader>> Open(const std::vector<std::string>& contents) {
    std::vector<std::string> paths;
    for (size_t i = 0; i < contents.size(); ++i) paths.push_back(folder_.Write("file_" + std::to_string(i), contents[i]));
    return SurveyReader::Open(data_, DescribeFiles(paths).value());
  }
  // Rows as text: label, then cells (missing ones in brackets) or pairs.
  std::vector<std::string> Rows(SurveyReader* reader) {
    std::vector<std::string> rows;
    SurveyRow row;
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next(&row);
      if (!more.ok()) rows.push_back(Short(more.status()));
      if (!more.ok() || !*more) return rows;
      std::string text = std::to_string(static_cast<int>(row.label));
      for (const SurveyCell& cell : row.cells) text += "|" + (cell.missing ? "[" + std::string(cell.text) + "]" : std::string(cell.text));
      for (const SurveyEntry& entry : row.entries) text += " " + std::to_string(entry.index) + ":" + std::to_string(entry.value).substr(0, 3);
      rows.push_back(text);
      bytes_ += row.bytes;
    }
  }
  std::string Short(const absl::Status& status) {
    std::string message(status.message());
    for (size_t at = message.find(folder_.Path("")); at != std::string::npos; at = message.find(folder_.Path(""))) {
      message.erase(at, folder_.Path("").size());
    }
    return message;
  }

  TestFolder folder_;
  Data data_;
  uint64_t bytes_ = 0;
};

using Texts = std::vector<std::string>;

TEST_F(SurveyReaderTest, CsvCellsComeInTheOrderOfTheFirstFile) {
  data_.set_format(csv);
  data_.add_labels()->set_column("y");
  const auto reader = Open({"", "y, a,b\n1, \"x\"\"\",?\n0,,5\n", Gzip("b,extra,y,a\n7,q,1,z")});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->columns(), (Texts{"y", "a", "b"}));
  EXPECT_EQ(Rows(reader->get()), (Texts{"1|1|x\"|[?]", "0|0|[]|5", "1|1|z|7"}));
  EXPECT_EQ((*reader)->Where(), folder_.Path("file_2") + ":2");
  EXPECT_EQ(bytes_, 11u + 5u + 7u);
}

TEST_F(SurveyReaderTest, CsvWithoutHeader) {
  data_.set_format(csv);
  data_.add_labels()->set_column("c1");
  data_.mutable_csv()->set_header(false);
  data_.mutable_csv()->add_missing("NA");
  const auto reader = Open({"x,1,NA\n,0,?\n"});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->columns(), (Texts{"c0", "c1", "c2"}));
  EXPECT_EQ(Rows(reader->get()), (Texts{"1|x|1|[NA]", "0||0|?"}));
}

TEST_F(SurveyReaderTest, NamelessColumnsAreNumbered) {
  data_.set_format(csv);
  data_.add_labels()->set_column("y");
  const auto reader = Open({"y,,\n1,a,b\n"});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ((*reader)->columns(), (Texts{"y", "c1", "c2"}));
}

TEST_F(SurveyReaderTest, CsvErrorsNameThePlace) {
  data_.set_format(csv);
  EXPECT_EQ(Open({"y\n"}).status().message(), "data.labels: name the label's column, for example labels: [{column: clk}]");
  data_.add_labels()->set_column("y");
  EXPECT_EQ(Short(Open({"a;y\n1;1\n"}).status()),
            "file_0:1: there is no column \"y\" (the label, data.labels[0].column) among 1 column: a;y "
            "(separator ','); is the file semicolon separated?");
  const auto reader = Open({"a,y\n1,1\n", "y\n1\n"});
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(Rows(reader->get()), (Texts{"1|1|1",
                                         "file_1:1: there is no column \"a\" (it is in the first file) among 1 column: y (separator ',')"}));
  const auto bad_row = Open({"a,y\n1,1\n1,1,2\n"});
  EXPECT_EQ(Rows(bad_row->get()), (Texts{"1|1|1", "file_0:3: 3 fields, expected 2 (separator ',')"}));
}

TEST_F(SurveyReaderTest, FilesWithoutRowsHaveNoColumns) {
  data_.set_format(csv);
  data_.add_labels()->set_column("y");
  const auto reader = Open({"", "\n\n"});
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_TRUE((*reader)->columns().empty());
  EXPECT_TRUE(Rows(reader->get()).empty());
}

TEST_F(SurveyReaderTest, Criteo) {
  data_.set_format(criteo);
  const auto reader = Open({"1\t5" + std::string(38, '\t') + "\n", "0\t5\n"});
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ((*reader)->columns().size(), 40u);
  EXPECT_EQ((*reader)->columns()[14], "C1");
  const Texts rows = Rows(reader->get());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].substr(0, 12), "1|1|5|[]|[]|");
  EXPECT_EQ(rows[1], "file_1:1: 2 fields, expected 40 (separator TAB)");
}

TEST_F(SurveyReaderTest, Libsvm) {
  data_.set_format(libsvm);
  const auto reader = Open({"-1 3:1 11:0.5 \n+1\n1 x\n"});
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(Rows(reader->get()), (Texts{"0 3:1.0 11:0.5", "1", "file_0:3: expected index:value, found \"x\""}));
}

}  // namespace
}  // namespace tessera
