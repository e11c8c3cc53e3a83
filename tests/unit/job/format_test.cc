// A job as `tessera job show` prints it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "tests/unit/job/job_texts.h"

namespace tessera {
namespace {

void ExpectRoundTrip(const JobFile& file) {
  const std::string text = FormatJob(file.job, file.origins);
  const auto again = ParseJob(text, "printed.yaml", {});
  ASSERT_TRUE(again.ok()) << again.status().message() << "\n" << text;
  EXPECT_EQ(again->job.DebugString(), file.job.DebugString()) << text;
}

TEST(FormatJobTest, WhatIsPrintedReadsBackAsTheSameJob) {
  ExpectRoundTrip(Parse(kComplete));
  ExpectRoundTrip(Parse(kSmallJob));
  ExpectRoundTrip(Parse(absl::StrCat(kSmallJob, "optimizers: {sparse: adam, dense: sgd}\n")));
  JobFile filled = Parse(kComplete);
  FillDefaults({5000, 100000}, &filled.job, &filled.origins);
  ExpectRoundTrip(filled);
}

TEST(FormatJobTest, EveryWordOfTheStorageKeysReadsBack) {
  for (const auto& [word, durability] : {std::pair("process", Durability::process), std::pair("power", Durability::power),
                                         std::pair("checkpoint", Durability::checkpoint)}) {
    JobFile file = Parse(absl::StrCat(kSmallJob, "storage: {log_per_server: 1GiB, durability: ", word, "}\n"));
    EXPECT_EQ(file.job.storage().durability(), durability);
    ExpectRoundTrip(file);
  }
  for (const auto& [word, count] : {std::pair("running", SightingCount::running), std::pair("before", SightingCount::before)}) {
    JobFile file = Parse(absl::StrCat(kSmallJob, "admission: {sightings: 3, memory: 1MiB, count: ", word, "}\n"));
    EXPECT_EQ(file.job.admission().count(), count);
    ExpectRoundTrip(file);
  }
  for (const char* start : {"zero", "uniform", "normal", "xavier", "{uniform: {bound: 0.5}}"}) {
    ExpectRoundTrip(Parse(absl::StrCat(kSmallJob, "model: {embedding_initializer: ", start, "}\n")));
  }
  ExpectRoundTrip(Parse(absl::StrCat(kSmallJob, "eviction: {unused_steps: 9, unused_periods: 2, rows: 1000, norm: 0.5, protect: features}\n",
                                     "optimizers: {sparse: rowwise_adagrad, dense: adamw, first_order: {ftrl: {l1: 1}}}\n")));
}

TEST(FormatJobTest, OddTextsReadBackAsTheyWere) {
  JobFile file = Parse(kComplete);
  Label& label = *file.job.mutable_data()->mutable_labels(0);
  for (const char* text : {"",
                           " ",
                           "a: b",
                           "# no comment",
                           "null",
                           "auto",
                           "~",
                           "- x",
                           "\"quoted\"",
                           "it's",
                           "back\\slash",
                           "tab\there",
                           "line\nend",
                           "[1]",
                           "{",
                           "*",
                           "&a",
                           "!x",
                           "%",
                           "@",
                           "`",
                           "\x01",
                           "umlaut \xc3\xa4",
                           "<=50K.",
                           " >50K",
                           "true",
                           "0x10",
                           "1e3",
                           "?",
                           ":",
                           ",",
                           "|",
                           ">"}) {
    label.add_positive(text);
  }
  ExpectRoundTrip(file);
}

TEST(FormatJobTest, EachLineSaysWhereItsValueCameFrom) {
  JobFile file = Parse("data:\n  format: criteo\n  train: {files: /day_0.tsv}\n", {"model.hidden=[8]"});
  FillDefaults({1000, 50000}, &file.job, &file.origins);
  const std::string text = FormatJob(file.job, file.origins);
  EXPECT_THAT(text, testing::ContainsRegex("\n  format: criteo +# job.yaml:2\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\n  hidden: \\[8\\] +# --set\n"));
  EXPECT_THAT(text, testing::ContainsRegex("\n  embedding_dim: 16 +# default: usual for click data\n"));
}

}  // namespace
}  // namespace tessera
