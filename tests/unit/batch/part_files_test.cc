// Row streams over real files: wherever blocks are cut and however files end, an epoch is every row once.
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/feature_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/batch/row_stream.h"
#include "worker/data/files.h"
#include "worker/data/schema_fields.h"

namespace tessera {
namespace {

// Three parts without a final newline and an empty one, of rows "label,token" that differ in length.
class PartFilesTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const bool header = GetParam();
    folder_ = std::filesystem::path(testing::TempDir()) / absl::StrCat("part_files_", header);
    std::filesystem::create_directories(folder_);
    std::vector<std::string> paths;
    for (int part = 0; part < 4; ++part) {
      std::vector<std::string> lines;
      if (header) lines.push_back("y,token");
      for (int i = 0; i < 5 && part != 1; ++i) {
        tokens_.push_back(absl::StrCat(std::string(1 + (3 * i + part) % 7, 'x'), tokens_.size()));
        lines.push_back(absl::StrCat(i % 2, ",", tokens_.back()));
      }
      paths.push_back((folder_ / absl::StrCat("part_", part)).string());
      std::ofstream(paths.back()) << absl::StrJoin(lines, "\n");
    }
    auto files = DescribeFiles(paths);
    ASSERT_TRUE(files.ok()) << files.status();
    *plan_.mutable_train() = *files;

    Data* data = plan_.mutable_job()->mutable_data();
    data->set_format(csv);
    data->mutable_csv()->set_header(header);
    data->mutable_train()->set_shuffle(6);
    data->add_labels()->set_column(header ? "y" : "c0");
    plan_.mutable_job()->set_seed(3);
    Schema* schema = plan_.mutable_schema();
    schema->set_format(csv);
    Column* label = schema->add_columns();
    label->set_name(header ? "y" : "c0");
    label->set_role(Column::LABEL);
    Column* token = schema->add_columns();
    token->set_name(header ? "token" : "c1");
    token->set_role(Column::CATEGORICAL);
    token->set_embedding("token");
    NameModelInputs(schema);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::shared_ptr<Input> Open(uint64_t block_bytes) {
    plan_.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(block_bytes);
    auto input = Input::Open(plan_, plan_.train(), ReadOptions());
    EXPECT_TRUE(input.ok()) << input.status();
    return input.ok() ? std::shared_ptr<Input>(*std::move(input)) : nullptr;
  }

  void ReadShare(std::shared_ptr<Input> input, uint32_t share, uint32_t shares, std::vector<uint64_t>* ids, std::vector<uint64_t>* keys) {
    auto stream = RowStream::ForShare(plan_, std::move(input), share, shares, Position());
    ASSERT_TRUE(stream.ok()) << stream.status();
    Position next;
    while (!next.end()) {
      Rows rows;
      const absl::Status status = (*stream)->Next(4, &rows, &next);
      ASSERT_TRUE(status.ok()) << status;
      ids->insert(ids->end(), rows.ids.begin(), rows.ids.end());
      keys->insert(keys->end(), rows.keys.begin(), rows.keys.end());
    }
  }

  std::filesystem::path folder_;
  std::vector<std::string> tokens_;
  Plan plan_;
};

TEST_P(PartFilesTest, EveryRowIsTrainedOnceWhereverBlocksAreCut) {
  const TokenHasher hasher("token");
  std::vector<uint64_t> expected;
  for (const std::string& token : tokens_) expected.push_back(hasher.Id(token));
  for (uint64_t block_bytes = 1; block_bytes <= 50; ++block_bytes) {
    const auto input = Open(block_bytes);
    for (uint32_t shares = 1; shares <= 7; ++shares) {
      std::vector<uint64_t> ids, keys;
      for (uint32_t share = 0; share < shares; ++share) ReadShare(input, share, shares, &ids, &keys);
      ASSERT_THAT(ids, testing::UnorderedElementsAreArray(expected)) << shares << " shares, blocks of " << block_bytes << " bytes";
    }
  }
}

TEST_P(PartFilesTest, HeldOutRowsAreThoseLeftOver) {
  plan_.mutable_job()->mutable_data()->mutable_evaluate()->set_holdout(0.4);
  for (const uint64_t block_bytes : {1, 7, 13, 100}) {
    const auto input = Open(block_bytes);
    std::vector<uint64_t> ids, keys;
    ReadShare(input, 0, 2, &ids, &keys);
    ReadShare(input, 1, 2, &ids, &keys);
    const size_t trained = keys.size();
    EXPECT_LT(trained, tokens_.size());
    Rows rows;
    for (uint64_t block = 0; block < input->block_count(); ++block) {
      const absl::Status status = input->ReadBlock(block, &rows);
      ASSERT_TRUE(status.ok()) << status;
    }
    ASSERT_EQ(rows.size(), tokens_.size());
    for (const uint64_t key : rows.keys) {
      if (IsHeldOut(plan_, key)) keys.push_back(key);
    }
    EXPECT_GT(keys.size(), trained);
    EXPECT_THAT(keys, testing::UnorderedElementsAreArray(rows.keys));
  }
}

INSTANTIATE_TEST_SUITE_P(Csv, PartFilesTest, testing::Bool(), [](const auto& info) { return info.param ? "WithHeader" : "WithoutHeader"; });

}  // namespace
}  // namespace tessera
