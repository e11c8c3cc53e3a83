#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "common/job/job_values.h"

namespace tessera {
namespace {

using testing::ElementsAre;

struct Filled {
  Job job;
  std::map<std::string, Origin> origins;
};

Filled Fill(const std::string& text, const DataSize& size) {
  auto file = ParseJob(text, "job.yaml", {});
  EXPECT_TRUE(file.ok()) << file.status().message();
  FillDefaults(size, &file->job, &file->origins);
  Filled filled{file->job, {}};
  for (const Origin& origin : file->origins) {
    EXPECT_TRUE(filled.origins.emplace(origin.key(), origin).second) << origin.key() << " has two origins";
  }
  return filled;
}

constexpr char kSmall[] = "data: {format: criteo, train: {files: /day_0.tsv}}\n";
constexpr DataSize kFew{32561, 3974305};
constexpr DataSize kMany{45000000, uint64_t{11} << 30};

TEST(FillDefaultsTest, SmallDataTakesSmallBatchesAndSeveralEpochs) {
  const Filled filled = Fill(kSmall, kFew);
  const Job& job = filled.job;
  EXPECT_EQ(job.training().batch_size(), 256u);
  EXPECT_EQ(job.training().epochs(), 10u);
  EXPECT_EQ(job.model().dropout(), 0.2);
  EXPECT_EQ(job.data().evaluate().holdout(), 0.1);
  EXPECT_EQ(job.optimizers().dense().adam().learning_rate(), 0.001);
  EXPECT_EQ(job.data().block_bytes().bytes(), 1024u);
  EXPECT_EQ(filled.origins.at("training.batch_size").source(), "default");
  EXPECT_EQ(filled.origins.at("training.batch_size").value(), "256");
  EXPECT_EQ(filled.origins.at("training.batch_size").reason(), "power of two nearest rows / 500, within 256 to 512");
  EXPECT_EQ(filled.origins.at("training.epochs").reason(), "32561 rows, under 300000; the evaluation stops it earlier");
}

TEST(FillDefaultsTest, LargeDataTakesLargeBatchesAndOneEpoch) {
  const Filled filled = Fill(kSmall, kMany);
  const Job& job = filled.job;
  EXPECT_EQ(job.training().batch_size(), 8192u);
  EXPECT_EQ(job.training().epochs(), 1u);
  EXPECT_EQ(job.model().dropout(), 0.1);
  EXPECT_EQ(job.data().evaluate().holdout(), 0.02);
  EXPECT_EQ(job.optimizers().dense().adam().learning_rate(), 0.004) << "grows with the square root of the batch";
  EXPECT_EQ(job.optimizers().sparse().adagrad().learning_rate(), 0.02) << "does not grow";
  EXPECT_EQ(job.data().block_bytes().bytes(), kMany.plain_bytes / 4096);
  EXPECT_EQ(filled.origins.at("optimizers.dense.adam.learning_rate").reason(), "0.001 x square root of batch_size / 512, at most 0.004");
  EXPECT_EQ(filled.origins.at("training.epochs").reason(), "45000000 rows, not under 300000; click data overfits in its second epoch");
}

TEST(FillDefaultsTest, TheBatchGrowsWithTheRows) {
  const auto batch = [](uint64_t rows) { return Fill(kSmall, {rows, 1000}).job.training().batch_size(); };
  EXPECT_EQ(batch(0), 256u);
  EXPECT_EQ(batch(1), 256u);
  EXPECT_EQ(batch(180000), 256u);
  EXPECT_EQ(batch(200000), 512u);
  EXPECT_EQ(batch(299999), 512u);
  EXPECT_EQ(batch(300000), 512u);
  EXPECT_EQ(batch(1000000), 2048u);
  EXPECT_EQ(batch(4000000), 8192u);
}

TEST(FillDefaultsTest, TheRestIsTheSameForAllData) {
  for (const DataSize& size : {kFew, kMany, DataSize{}}) {
    const Job job = Fill(kSmall, size).job;
    EXPECT_EQ(job.seed(), 1u);
    EXPECT_EQ(job.data().train().shuffle(), 131072u);
    EXPECT_EQ(job.model().type(), deepfm);
    EXPECT_EQ(job.model().embedding_dim(), 16u);
    EXPECT_THAT(job.model().hidden(), ElementsAre(400, 400, 400));
    EXPECT_EQ(job.optimizers().sparse().adagrad().epsilon(), 1e-10);
    EXPECT_EQ(job.optimizers().sparse().adagrad().initial_accumulator(), 0.0);
    EXPECT_EQ(job.optimizers().dense().adam().beta2(), 0.999);
    EXPECT_EQ(job.training().mode(), sync);
    EXPECT_EQ(job.training().backend(), cpu);
    EXPECT_EQ(job.training().workers(), 1u);
    EXPECT_EQ(job.training().shares(), 1u);
    EXPECT_FALSE(job.training().has_threads()) << "depends on the machine and changes no result";
    EXPECT_EQ(job.evaluation().every().epochs(), 1.0);
    EXPECT_EQ(job.evaluation().monitor(), auc);
    EXPECT_EQ(job.evaluation().patience(), 2u);
    EXPECT_TRUE(job.evaluation().restore_best());
    EXPECT_EQ(job.checkpoint().keep(), 3u);
    EXPECT_GE(job.data().block_bytes().bytes(), 1024u);
    EXPECT_FALSE(job.data().has_csv()) << "criteo has no separator to choose";
  }
}

TEST(FillDefaultsTest, CsvGetsTheUsualSpellings) {
  const Job job = Fill("data: {format: csv, train: {files: /a.csv}, labels: {column: y}}", kFew).job;
  EXPECT_EQ(job.data().csv().separator(), ",");
  EXPECT_EQ(job.data().csv().quote(), "\"");
  EXPECT_TRUE(job.data().csv().header());
  EXPECT_THAT(job.data().csv().missing(), ElementsAre("", "?"));
}

TEST(FillDefaultsTest, EvaluationFilesNeedNoHoldout) {
  const Filled filled = Fill("data: {format: criteo, train: {files: /a}, evaluate: {files: /b}}", kFew);
  EXPECT_TRUE(filled.job.data().evaluate().has_holdout());
  EXPECT_EQ(filled.job.data().evaluate().holdout(), 0.0);
  EXPECT_EQ(filled.origins.at("data.evaluate.holdout").reason(), "data.evaluate.files are given");
  EXPECT_EQ(filled.job.training().epochs(), 10u);
}

TEST(FillDefaultsTest, WithoutAnyEvaluationSmallDataStopsSooner) {
  EXPECT_EQ(Fill("data: {format: criteo, train: {files: /a}, evaluate: {holdout: 0}}", kFew).job.training().epochs(), 4u);
}

TEST(FillDefaultsTest, GivenValuesStay) {
  const Filled filled = Fill(
      absl::StrCat(kSmall, "seed: 0\nmodel: {dropout: 0, hidden: 7}\ntraining: {batch_size: 3, workers: 2, mode: async}\n",
                   "optimizers: {sparse: sgd, dense: {adam: {learning_rate: 0.5}}}\nevaluation: {restore_best: false, every: 9 steps}\n"),
      kMany);
  EXPECT_EQ(filled.job.seed(), 0u);
  EXPECT_EQ(filled.job.model().dropout(), 0.0);
  EXPECT_THAT(filled.job.model().hidden(), ElementsAre(7));
  EXPECT_EQ(filled.job.training().batch_size(), 3u);
  EXPECT_EQ(filled.job.training().shares(), 2u) << "as many as workers";
  EXPECT_TRUE(filled.job.optimizers().sparse().has_sgd());
  EXPECT_EQ(filled.job.optimizers().dense().adam().learning_rate(), 0.5);
  EXPECT_FALSE(filled.job.evaluation().restore_best());
  EXPECT_EQ(filled.job.evaluation().every().steps(), 9u);
  EXPECT_EQ(filled.origins.at("seed").source(), "job.yaml:2");
}

TEST(FillDefaultsTest, ALargeBatchGivenByHandRaisesTheDenseRateUpToACap) {
  const auto rate = [](const char* batch) {
    return Fill(absl::StrCat(kSmall, "training: {batch_size: ", batch, "}\n"), kFew).job.optimizers().dense().adam().learning_rate();
  };
  EXPECT_EQ(rate("64"), 0.001);
  EXPECT_EQ(rate("2048"), 0.002);
  EXPECT_EQ(rate("1000000"), 0.004);
}

TEST(FillDefaultsTest, EveryShareGetsARow) {
  EXPECT_EQ(Fill(absl::StrCat(kSmall, "training: {shares: 700}\n"), kFew).job.training().batch_size(), 1024u);
}

TEST(FillDefaultsTest, NumericRulesGetBothTreatments) {
  const Job job =
      Fill(absl::StrCat(kSmall,
                        "features: [{match: I1, as: numeric}, {match: I2, as: numeric, treat: dense}, {match: C1, as: categorical}]"),
           kFew)
          .job;
  EXPECT_THAT(job.features(0).treat(), ElementsAre(bucket, scaled));
  EXPECT_THAT(job.features(1).treat(), ElementsAre(dense));
  EXPECT_TRUE(job.features(2).treat().empty());
}

TEST(FillDefaultsTest, FoldersAreBelowTheCurrentOne) {
  const std::filesystem::path run = std::filesystem::current_path() / "runs/clicks";
  const Job job = Fill(absl::StrCat("name: clicks\n", kSmall), kFew).job;
  EXPECT_EQ(job.storage().directory(), run / "state");
  EXPECT_EQ(job.checkpoint().directory(), run / "checkpoints");
}

TEST(FillDefaultsTest, ARemovedCurrentFolderLeavesRelativePaths) {
  const std::filesystem::path before = std::filesystem::current_path(), gone = std::filesystem::path(testing::TempDir()) / "tessera_gone";
  std::filesystem::create_directories(gone);
  std::filesystem::current_path(gone);
  std::filesystem::remove(gone);
  const Job job = Fill(absl::StrCat("name: clicks\n", kSmall), kFew).job;
  std::filesystem::current_path(before);
  EXPECT_EQ(job.storage().directory(), "runs/clicks/state");
}

TEST(FillDefaultsTest, EveryValueHasOneOriginAndEveryDefaultAReason) {
  for (const char* text : {kSmall,
                           "data: {format: csv, train: {files: /a.csv}, labels: {column: y}}\nfeatures: [{match: x, as: "
                           "numeric}]\noptimizers: {sparse: adam, dense: sgd}"}) {
    const Filled filled = Fill(text, kFew);
    for (const JobValue& value : JobValues(filled.job)) {
      const auto origin = filled.origins.find(value.key);
      ASSERT_NE(origin, filled.origins.end()) << value.key;
      if (origin->second.source() == "default") {
        EXPECT_EQ(origin->second.value(), value.text);
        EXPECT_FALSE(origin->second.reason().empty()) << value.key;
      }
    }
  }
}

TEST(FillDefaultsTest, FillingTwiceChangesNothing) {
  auto file = ParseJob(kSmall, "job.yaml", {});
  FillDefaults(kFew, &file->job, &file->origins);
  const std::string once = file->job.SerializeAsString();
  const size_t origins = file->origins.size();
  FillDefaults(kMany, &file->job, &file->origins);
  EXPECT_EQ(file->job.SerializeAsString(), once);
  EXPECT_EQ(file->origins.size(), origins);
}

}  // namespace
}  // namespace tessera
