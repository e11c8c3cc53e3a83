// The parts that plans are made of: guesses, fields of libsvm, estimates, places of keys.
#include "worker/plan/survey.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/plan/key_place.h"

namespace tessera {
namespace {

using testing::ElementsAre;

ColumnGuess GuessOf(const std::string& name, const std::vector<std::string>& values) {
  ColumnSample sample(name, ColumnSample::Use::kGuess);
  for (const std::string& value : values) EXPECT_TRUE(sample.Add({value, value.empty()}));
  return sample.Guess();
}

std::vector<std::string> Numbers(int count) {
  std::vector<std::string> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(absl::StrCat(i * 2 - 5));
  return numbers;
}

TEST(ColumnSampleTest, ManyNumbersAreAMeasure) {
  EXPECT_EQ(GuessOf("age", Numbers(21)).kind, numeric);
  EXPECT_EQ(GuessOf("bid", Numbers(21)).kind, numeric);
  EXPECT_EQ(GuessOf("age", Numbers(20)).kind, categorical);
  EXPECT_EQ(GuessOf("age", Numbers(20)).reason, "only 20 different numbers in the first 20 rows");
}

TEST(ColumnSampleTest, NumbersThatOnlyNameThingsAreNot) {
  for (const char* name : {"id", "user_id", "userid", "adId", "URL_HASH"}) EXPECT_EQ(GuessOf(name, Numbers(50)).kind, categorical) << name;
  std::vector<std::string> padded = Numbers(50);
  padded.push_back("007");
  EXPECT_EQ(GuessOf("branch", padded).reason, "numbers with leading zeros, for example 007");
}

TEST(ColumnSampleTest, OneTextMakesAColumnCategorical) {
  std::vector<std::string> values = Numbers(50);
  values.push_back("n/a");
  EXPECT_EQ(GuessOf("age", values).kind, categorical);
  EXPECT_EQ(GuessOf("age", values).reason, "not all values are numbers, for example \"n/a\"");
}

TEST(ColumnSampleTest, MissingValuesSayNothing) {
  std::vector<std::string> values = Numbers(30);
  values.insert(values.end(), 100, "");
  EXPECT_EQ(GuessOf("age", values).kind, numeric);
  EXPECT_EQ(GuessOf("age", {"", ""}).reason, "no value in the first 2 rows");
}

TEST(ColumnSampleTest, AColumnOfNumbersRefusesText) {
  ColumnSample sample("age", ColumnSample::Use::kNumbers);
  EXPECT_TRUE(sample.Add({"1e30", false}));
  EXPECT_TRUE(sample.Add({"", true}));
  EXPECT_FALSE(sample.Add({"old", false}));
}

Schema FieldsOf(const std::vector<std::vector<uint64_t>>& rows) {
  LibsvmFieldFinder finder;
  for (const auto& row : rows) {
    std::vector<SurveyEntry> entries;
    for (const uint64_t index : row) entries.push_back({index, 1});
    finder.Add(entries);
  }
  Schema schema;
  finder.Finish(&schema);
  return schema;
}

TEST(LibsvmFieldFinderTest, IndicesNeverSetTogetherAreOneField) {
  const Schema schema = FieldsOf({{1, 4, 9}, {2, 5, 9}, {3, 4}, {7, 3}});
  EXPECT_THAT(schema.fields(), ElementsAre("1..3", "4..8", "9.."));
  EXPECT_THAT(schema.libsvm_field_end(), ElementsAre(4, 9, 10));
}

TEST(LibsvmFieldFinderTest, DenseRowsMakeAFieldOfEachIndex) {
  EXPECT_THAT(FieldsOf({{0, 1, 2}, {2, 1, 0}}).fields(), ElementsAre("0", "1", "2.."));
}

TEST(LibsvmFieldFinderTest, ZerosAreNotSet) {
  LibsvmFieldFinder finder;
  finder.Add(std::vector<SurveyEntry>{{1, 1}, {2, 0}, {3, 0}});
  finder.Add(std::vector<SurveyEntry>{{1, 0}, {2, 1}});
  Schema schema;
  finder.Finish(&schema);
  EXPECT_THAT(schema.fields(), ElementsAre("1.."));
}

TEST(LibsvmFieldFinderTest, RowsWithoutEntriesMakeOneField) {
  EXPECT_THAT(FieldsOf({{}, {}}).fields(), ElementsAre("0.."));
}

TEST(LibsvmFieldFinderTest, ManyRunsArePutTogetherByTheirOccurrences) {
  std::vector<uint64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  const Schema schema = FieldsOf({all, all});
  ASSERT_EQ(schema.fields_size(), static_cast<int>(kLibsvmFieldsMax));
  uint32_t begin = 0;
  for (const uint32_t end : schema.libsvm_field_end()) {
    EXPECT_THAT(end - begin, testing::AllOf(testing::Ge(15u), testing::Le(16u)));
    begin = end;
  }
}

TEST(LibsvmFieldFinderTest, NoFieldHasTwoIndicesOfARow) {
  RandomSequence random(1);
  std::vector<std::vector<uint64_t>> rows;
  for (int i = 0; i < 200; ++i) {  // six columns of ten values, each absent at times
    rows.emplace_back();
    for (uint64_t column = 0; column < 6; ++column) {
      if (random.Below(4) != 0) rows.back().push_back(column * 10 + random.Below(10));
    }
  }
  const Schema schema = FieldsOf(rows);
  for (const auto& row : rows) {
    std::vector<int> seen(schema.fields_size(), 0);
    for (const uint64_t index : row) {
      const auto& ends = schema.libsvm_field_end();
      const int field = std::min<int>(static_cast<int>(std::upper_bound(ends.begin(), ends.end(), index) - ends.begin()), schema.fields_size() - 1);
      EXPECT_LE(++seen[field], 1);
    }
  }
}

TEST(LibsvmFieldFinderTest, HugeIndicesFallIntoTheLastField) {
  EXPECT_THAT(FieldsOf({{1, uint64_t{1} << 40}, {2}}).fields(), ElementsAre("1.."));
}

// Rows of fixed labels and sizes.
class FakeReader : public SurveyReader {
 public:
  explicit FakeReader(std::vector<float> labels) : labels_(std::move(labels)) {}
  const std::vector<std::string>& columns() const override { return columns_; }
  absl::StatusOr<bool> Next(SurveyRow* row) override {
    if (next_ == labels_.size()) return false;
    row->label = labels_[next_++];
    row->bytes = 10;
    return true;
  }
  std::string Where() const override { return "fake:1"; }

 private:
  const std::vector<float> labels_;
  const std::vector<std::string> columns_;
  size_t next_ = 0;
};

TEST(TakeSurveyTest, ExtrapolatesTheRowsItDidNotRead) {
  FakeReader reader(std::vector<float>(100, 1.0f));
  const auto part = TakeSurvey(&reader, {}, 40);
  ASSERT_TRUE(part.ok());
  EXPECT_EQ(part->rows, 40u);
  EXPECT_FALSE(part->complete);
  EXPECT_EQ(EstimateRows(*part, 1000), 100u);
  const auto rest = TakeSurvey(&reader, {}, 1000);
  ASSERT_TRUE(rest.ok());
  EXPECT_TRUE(rest->complete);
  EXPECT_EQ(EstimateRows(*rest, 1000), 60u) << "what was counted is exact";
}

TEST(TakeSurveyTest, TheClickRateIsThatOfTheFirstRows) {
  std::vector<float> labels(kClickRateRows * 2, 0.0f);
  std::fill(labels.begin(), labels.begin() + kClickRateRows / 4, 1.0f);
  FakeReader reader(labels);
  const auto survey = TakeSurvey(&reader, {}, kSurveyRows);
  ASSERT_TRUE(survey.ok());
  EXPECT_EQ(survey->click_rate, 0.25);
}

TEST(KeyPlaceTest, NamesTheLineOfTheKeyOrOfTheNearestOne) {
  std::vector<Origin> origins(3);
  origins[0].set_key("data.format");
  origins[0].set_source("dir/job.yaml:3");
  origins[1].set_key("features[1].match");
  origins[1].set_source("dir/job.yaml:9");
  origins[2].set_key("features[10].match");
  origins[2].set_source("--set");
  EXPECT_EQ(KeyPlace(origins, "data.format"), "dir/job.yaml:3: data.format");
  EXPECT_EQ(KeyPlace(origins, "data.labels"), "dir/job.yaml:3: data.labels");
  EXPECT_EQ(KeyPlace(origins, "features[1]"), "dir/job.yaml:9: features[1]");
  EXPECT_EQ(KeyPlace(origins, "features[1].as"), "dir/job.yaml:9: features[1].as");
  EXPECT_EQ(KeyPlace(origins, "features[10]"), "--set: features[10]");
  EXPECT_EQ(KeyPlace(origins, "model.type"), "dir/job.yaml: model.type");
  EXPECT_EQ(KeyPlace({}, "model.type"), "model.type");
}

}  // namespace
}  // namespace tessera
