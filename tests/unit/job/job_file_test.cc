#include "common/job/job_file.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/unit/job/job_texts.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string Refusal(const std::string& text, const std::vector<std::string>& sets) {
  return std::string(ParseJob(text, "job.yaml", sets).status().message());
}

const Origin* FindOrigin(const JobFile& file, const std::string& key) {
  for (const Origin& origin : file.origins) {
    if (origin.key() == key) return &origin;
  }
  return nullptr;
}

TEST(ParseJobTest, ReadsEveryPartOfAJob) {
  const Job job = Parse(kComplete).job;
  EXPECT_EQ(job.name(), "feed-rank");
  EXPECT_EQ(job.seed(), 7u);
  EXPECT_EQ(job.data().format(), csv);
  EXPECT_EQ(job.data().csv().separator(), ";");
  EXPECT_THAT(job.data().csv().missing(), ElementsAre("", "?"));
  EXPECT_EQ(job.data().train().shuffle(), 1000000u);
  EXPECT_EQ(job.data().evaluate().holdout(), 0.05);
  EXPECT_EQ(job.data().labels(0).column(), "clk");
  EXPECT_EQ(job.data().block_bytes().bytes(), 65536u);
  ASSERT_EQ(job.features_size(), 4);
  EXPECT_THAT(job.features(0).match(), ElementsAre("ts", "debug_*"));
  EXPECT_EQ(job.features(1).embedding(), "item");
  EXPECT_THAT(job.features(2).treat(), ElementsAre(bucket, scaled));
  EXPECT_THAT(job.model().hidden(), ElementsAre(400, 400, 400));
  EXPECT_EQ(job.optimizers().sparse().adagrad().learning_rate(), 0.02);
  EXPECT_EQ(job.optimizers().dense().adam().learning_rate(), 0.001);
  EXPECT_FALSE(job.training().has_batch_size()) << "auto is absent";
  EXPECT_EQ(job.training().patience().ms(), 90000);
  EXPECT_EQ(job.evaluation().every().epochs(), 1.0);
  EXPECT_EQ(job.storage().memory_per_server().bytes(), uint64_t{4} << 30);
  EXPECT_EQ(job.checkpoint().every().ms(), 600000);
}

TEST(ParseJobTest, EveryValueKnowsItsLine) {
  const JobFile file = Parse(kComplete, {"training.workers=3"}, "jobs/rank.yaml");
  EXPECT_EQ(FindOrigin(file, "seed")->source(), "jobs/rank.yaml:2");
  EXPECT_EQ(FindOrigin(file, "data.csv.missing")->value(), "[\"\", \"?\"]");
  EXPECT_EQ(FindOrigin(file, "features[2].treat")->source(), "jobs/rank.yaml:16");
  EXPECT_EQ(FindOrigin(file, "checkpoint.every")->value(), "10m");
  EXPECT_EQ(FindOrigin(file, "training.workers")->source(), "--set");
  EXPECT_EQ(FindOrigin(file, "training.batch_size"), nullptr) << "auto is not given";
}

TEST(ParseJobTest, ZeroDiffersFromAbsent) {
  const Job job = Parse(absl::StrCat(kSmallJob, "seed: 0\nmodel: {dropout: 0}\n")).job;
  EXPECT_TRUE(job.has_seed());
  EXPECT_TRUE(job.model().has_dropout());
  EXPECT_FALSE(job.model().has_embedding_dim());
}

TEST(ParseJobTest, OneValueIsAListOfOne) {
  const Job job = Parse(
                      "data: {format: csv, train: {files: /a.csv}, labels: {column: y}}\nmodel: {hidden: 32}\nfeatures: {match: x, as: "
                      "numeric, treat: dense}")
                      .job;
  EXPECT_THAT(job.data().train().files(), ElementsAre("/a.csv"));
  EXPECT_EQ(job.data().labels(0).column(), "y");
  EXPECT_THAT(job.model().hidden(), ElementsAre(32));
  EXPECT_THAT(job.features(0).treat(), ElementsAre(dense));
}

TEST(ParseJobTest, AnOptimizerMayBeJustItsName) {
  const JobFile file = Parse(absl::StrCat(kSmallJob, "optimizers:\n  sparse: adam\n  dense: {sgd: {}}\n"));
  EXPECT_TRUE(file.job.optimizers().sparse().has_adam());
  EXPECT_TRUE(file.job.optimizers().dense().has_sgd());
  EXPECT_EQ(FindOrigin(file, "optimizers.sparse.adam")->source(), "job.yaml:3");
}

TEST(ParseJobTest, TextsAreTakenAsTheyStand) {
  const Job job = Parse(
                      "data: {format: csv, train: {files: /a.csv}, csv: {quote: '', separator: \"\\t\"}, labels: {column: 'auto', "
                      "positive: [yes, 1.0], negative: [no, 007]}}")
                      .job;
  EXPECT_TRUE(job.data().csv().has_quote());
  EXPECT_EQ(job.data().csv().quote(), "");
  EXPECT_EQ(job.data().csv().separator(), "\t");
  EXPECT_EQ(job.data().labels(0).column(), "auto");
  EXPECT_THAT(job.data().labels(0).positive(), ElementsAre("yes", "1.0"));
  EXPECT_THAT(job.data().labels(0).negative(), ElementsAre("no", "007"));
}

TEST(ParseJobTest, AHeadingWithoutKeysSaysNothing) {
  EXPECT_FALSE(Parse(absl::StrCat(kSmallJob, "training:\n  # epochs: 2\n")).job.has_training());
}

TEST(ParseJobTest, TheNameDefaultsToTheFiles) {
  const JobFile file = Parse(kSmallJob, {}, "somewhere/clicks.yaml");
  EXPECT_EQ(file.job.name(), "clicks");
  EXPECT_EQ(FindOrigin(file, "name")->source(), "default");
  EXPECT_THAT(std::string(ParseJob(kSmallJob, "my job.yaml", {}).status().message()),
              HasSubstr("my job.yaml: name: \"my job\" cannot name a folder"));
}

TEST(ParseJobTest, WindowsLineEndsAreReadToo) {
  EXPECT_EQ(Parse("seed: 3\r\ndata: {format: criteo, train: {files: /a}}\r\n").job.seed(), 3u);
}

TEST(ParseJobTest, ABinaryFileIsRefused) { EXPECT_THAT(Refusal(std::string("PK\0\1", 4), {}), HasSubstr("job.yaml: is not a text file")); }

TEST(ParseJobTest, AByteOfAnotherEncodingIsRefusedWithItsLine) {
  EXPECT_EQ(Refusal("seed: 1\nname: \xe4\n", {}), "job.yaml:2: has a byte that is not UTF-8; save the file as UTF-8");
  EXPECT_THAT(Refusal(kSmallJob, {"name=\xff"}), HasSubstr("is not UTF-8"));
}

TEST(ParseJobTest, WhatIsLeftBehindTheDocumentIsNotPassedOver) {
  EXPECT_THAT(Refusal(absl::StrCat(kSmallJob, "...\nseed: 3\n"), {}),
              HasSubstr("job.yaml:3: not valid YAML: a second document, or something left over, begins here"));
  EXPECT_THAT(Refusal(kSmallJob, {"model.hidden=[8]]"}), HasSubstr("--set: model.hidden: not valid YAML"));
}

// ---- --set

TEST(SetTest, ReplacesAValueOfTheFile) {
  const JobFile file =
      Parse(kComplete, {"model.embedding_dim=4", "training.epochs=2", "training.epochs=3", "model.hidden=[8, 9]", "data.train.shuffle=0"});
  EXPECT_EQ(file.job.model().embedding_dim(), 4u);
  EXPECT_EQ(file.job.training().epochs(), 3u) << "the last one counts";
  EXPECT_THAT(file.job.model().hidden(), ElementsAre(8, 9));
  EXPECT_EQ(file.job.data().train().shuffle(), 0u);
  EXPECT_EQ(std::count_if(file.origins.begin(), file.origins.end(), [](const Origin& o) { return o.key() == "model.hidden"; }), 1);
}

TEST(SetTest, AutoTakesAValueAway) {
  const JobFile file = Parse(kComplete, {"training.workers=auto"});
  EXPECT_FALSE(file.job.training().has_workers());
  EXPECT_EQ(FindOrigin(file, "training.workers"), nullptr);
}

TEST(SetTest, AWholePartIsReplaced) {
  const JobFile file = Parse(kComplete, {"data.csv={separator: '|'}", "optimizers.dense=sgd"});
  EXPECT_EQ(file.job.data().csv().separator(), "|");
  EXPECT_FALSE(file.job.data().csv().has_quote());
  EXPECT_TRUE(file.job.optimizers().dense().has_sgd());
  EXPECT_EQ(FindOrigin(file, "data.csv.quote"), nullptr);
  EXPECT_EQ(FindOrigin(file, "optimizers.dense.adam.learning_rate"), nullptr);
}

TEST(SetTest, AnotherKindOfOptimizerReplacesTheOneThereWas) {
  const JobFile file = Parse(kComplete, {"optimizers.sparse.adam.learning_rate=0.005"});
  EXPECT_EQ(file.job.optimizers().sparse().adam().learning_rate(), 0.005);
  EXPECT_EQ(FindOrigin(file, "optimizers.sparse.adagrad.learning_rate"), nullptr);
}

TEST(SetTest, ATextThatYamlHasOtherUsesForIsTakenAsItStands) {
  EXPECT_EQ(Parse(kComplete, {"data.csv.separator=,"}).job.data().csv().separator(), ",");
  EXPECT_EQ(Parse(kComplete, {"data.csv.separator=\t"}).job.data().csv().separator(), "\t");
  EXPECT_EQ(Parse(kComplete, {"data.csv.separator=\"\\t\""}).job.data().csv().separator(), "\t");
  EXPECT_EQ(Parse(kComplete, {"data.csv.separator=="}).job.data().csv().separator(), "=");
  EXPECT_EQ(Parse(kComplete, {"data.csv.quote="}).job.data().csv().quote(), "");
}

TEST(SetTest, ErrorsNameTheKey) {
  EXPECT_EQ(Refusal(kSmallJob, {"training.batchsize=3"}), "--set: training.batchsize: no such key; did you mean batch_size?");
  EXPECT_EQ(Refusal(kSmallJob, {"training.epochs=many"}), "--set: training.epochs: \"many\" is no whole number; write digits only");
  EXPECT_EQ(Refusal(kSmallJob, {"training.epochs"}),
            "--set: \"training.epochs\" is no assignment; write KEY=VALUE such as training.batch_size=512");
  EXPECT_EQ(Refusal(kSmallJob, {"=3"}), "--set: \"=3\" is no assignment; write KEY=VALUE such as training.batch_size=512");
  EXPECT_EQ(Refusal(kSmallJob, {"seed.low=3"}), "--set: seed.low: seed is one value; write seed=VALUE");
  EXPECT_EQ(Refusal(kSmallJob, {"features.as=numeric"}), "--set: features.as: features is a list; set all of it: 'features=[...]'");
  EXPECT_EQ(Refusal(kSmallJob, {"features[0].as=numeric"}),
            "--set: features[0].as: entries of a list cannot be set one by one; set the whole list");
  EXPECT_THAT(Refusal(kSmallJob, {"model.hidden=[8, 9"}), HasSubstr("--set: model.hidden: not valid YAML"));
  EXPECT_EQ(Refusal(kSmallJob, {"training.batch_size=0"}), "--set: training.batch_size: 0 is out of range; write 1 to 16777216");
}

TEST(SetTest, ItsErrorsStandBehindThoseOfTheFile) {
  EXPECT_EQ(Refusal("data: {format: criteo, train: {files: /a}}\nmodel: {dropout: 2}", {"sed=3"}),
            "job.yaml:2: model.dropout: 2 is out of range; write a number from 0 to below 1\n--set: sed: no such key; did you mean seed?");
}

// ---- paths

TEST(PathsTest, ThoseOfTheFileStartAtItsFolderAndThoseOfSetAtTheCurrentOne) {
  const std::filesystem::path here = std::filesystem::current_path();
  const Job job = Parse(
                      "data: {format: criteo, train: {files: [../d/day_*.tsv, /abs/x], exclude: day_3.tsv}}\nstorage: {directory: "
                      "s}\ncheckpoint: {directory: c}",
                      {"data.evaluate.files=e.tsv"}, "jobs/deep/job.yaml")
                      .job;
  EXPECT_THAT(job.data().train().files(), ElementsAre((here / "jobs/d/day_*.tsv").string(), "/abs/x"));
  EXPECT_THAT(job.data().train().exclude(), ElementsAre((here / "jobs/deep/day_3.tsv").string()));
  EXPECT_THAT(job.data().evaluate().files(), ElementsAre((here / "e.tsv").string()));
  EXPECT_EQ(job.storage().directory(), (here / "jobs/deep/s").string());
  EXPECT_EQ(job.checkpoint().directory(), (here / "jobs/deep/c").string());
}

TEST(PathsTest, AGlobMeansTheFoldersNameAsItStands) {
  const std::string here = std::filesystem::current_path().string();
  const Job job = Parse("data: {format: criteo, train: {files: [day_*.tsv, day_1.tsv]}}", {}, "[new] *?/job.yaml").job;
  EXPECT_THAT(job.data().train().files(), ElementsAre(here + "/\\[new] \\*\\?/day_*.tsv", here + "/[new] *?/day_1.tsv"));
}

TEST(LoadJobTest, ReadsAFileAndSaysWhatIsWrongWithOne) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "tessera_job_file_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder / "clicks.yaml", missing = folder / "none.yaml", large = folder / "large.yaml";
  std::ofstream(path) << "data: {format: criteo, train: {files: day_0.tsv}}\n";
  std::ofstream(large) << std::string(2 << 20, '#');
  const auto job = LoadJob(path, {"seed=5"});
  ASSERT_TRUE(job.ok()) << job.status().message();
  EXPECT_EQ(job->job.name(), "clicks");
  EXPECT_EQ(job->job.seed(), 5u);
  EXPECT_EQ(job->job.data().train().files(0), std::filesystem::canonical(folder) / "day_0.tsv");
  EXPECT_EQ(LoadJob(missing, {}).status().message(), missing + ": no such file; give the path of a job file");
  EXPECT_EQ(LoadJob(folder, {}).status().message(), folder.string() + ": is a folder; give the path of a job file in it");
  EXPECT_EQ(LoadJob(large, {}).status().message(), large + ": is larger than 1 MiB; is this a job file?");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tessera
