#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/job/job_file.h"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Plan MakePlan() {
  Plan plan;
  auto file = ParseJob("data: {format: csv, train: {files: /d/a.csv}, labels: {column: y}, evaluate: {files: /d/b.csv}}", "job.yaml", {});
  FillDefaults({1000, 50000}, &file->job, &file->origins);
  *plan.mutable_job() = file->job;
  for (const char* path : {"/d/a.csv", "/d/a2.csv"}) {
    InputFile& input = *plan.add_train();
    input.set_path(path);
    input.set_plain_bytes(100);
    input.set_fingerprint(std::string("print of ") + path);
  }
  *plan.add_evaluate() = plan.train(0);
  for (const char* name : {"x", "y"}) plan.mutable_schema()->add_columns()->set_name(name);
  plan.mutable_schema()->add_fields("x");
  plan.mutable_table()->set_name("embedding");
  plan.mutable_table()->add_segments()->set_dim(1);
  plan.add_variables()->set_name("bias");
  return plan;
}

// Differences of a plan changed by `change` against the one it was.
std::vector<std::string> After(const std::function<void(Plan*)>& change) {
  Plan now = MakePlan();
  change(&now);
  return PlanDifferences(now, MakePlan());
}

TEST(PlanDifferencesTest, EqualPlansHaveNone) {
  EXPECT_THAT(After([](Plan*) {}), IsEmpty());
}

TEST(PlanDifferencesTest, AChangedValueIsNamedWithWhatItWas) {
  EXPECT_THAT(After([](Plan* plan) {
                plan->mutable_job()->mutable_training()->set_batch_size(512);
                plan->mutable_job()->mutable_model()->clear_dropout();
                plan->mutable_job()->mutable_model()->set_hidden(1, 30);
                plan->mutable_job()->add_features()->add_match("x");
              }),
              ElementsAre("features[0].match: [x], was absent", "model.hidden: [400, 30, 400], was [400, 400, 400]",
                          "training.batch_size: 512, was 256", "model.dropout: absent, was 0.2"));
}

TEST(PlanDifferencesTest, AnotherOptimizerIsNamed) {
  EXPECT_THAT(After([](Plan* plan) { plan->mutable_job()->mutable_optimizers()->mutable_dense()->mutable_sgd()->set_learning_rate(0.1); }),
              testing::Contains("optimizers.dense.sgd.learning_rate: 0.1, was absent"));
}

TEST(PlanDifferencesTest, ValuesThatChangeNoResultMayDiffer) {
  EXPECT_THAT(After([](Plan* plan) {
                Job* const job = plan->mutable_job();
                job->mutable_training()->set_threads(7);
                job->mutable_training()->set_workers(3);
                job->mutable_training()->mutable_patience()->set_ms(1);
                job->mutable_training()->set_refusals_max(5);
                job->mutable_storage()->set_directory("/elsewhere");
                job->mutable_storage()->mutable_memory_per_server()->set_bytes(1 << 20);
                job->mutable_storage()->mutable_log_per_server()->set_bytes(1 << 30);
                job->mutable_storage()->set_durability(Durability::power);
                job->mutable_checkpoint()->set_directory("/elsewhere too");
                job->mutable_checkpoint()->mutable_every()->set_steps(5);
                job->mutable_checkpoint()->set_keep(9);
                plan->add_origins()->set_key("seed");
              }),
              IsEmpty());
}

TEST(PlanDifferencesTest, WhatIsEvictedMayChangeOnTheWay) {
  EXPECT_THAT(After([](Plan* plan) {
                Eviction* const eviction = plan->mutable_job()->mutable_eviction();
                eviction->set_unused_steps(1000);
                eviction->set_unused_periods(30);
                eviction->set_rows(5000);
                eviction->set_norm(0.01);
                eviction->add_protect("features");
              }),
              IsEmpty());
}

TEST(PlanDifferencesTest, WhoIsAdmittedMayNot) {
  EXPECT_THAT(After([](Plan* plan) {
                plan->mutable_job()->mutable_admission()->set_sightings(2);
                plan->mutable_job()->mutable_admission()->set_count(before);
              }),
              ElementsAre("admission.sightings: 2, was absent", "admission.count: before, was absent"));
}

TEST(PlanDifferencesTest, OtherSharesAreAnotherRun) {
  EXPECT_THAT(After([](Plan* plan) { plan->mutable_job()->mutable_training()->set_shares(3); }), ElementsAre("training.shares: 3, was 1"));
}

TEST(PlanDifferencesTest, ChangedContentIsNamedByItsFile) {
  EXPECT_THAT(After([](Plan* plan) { plan->mutable_train(1)->set_fingerprint("other"); }), ElementsAre("/d/a2.csv: content changed"));
  EXPECT_THAT(After([](Plan* plan) { plan->mutable_evaluate(0)->set_plain_bytes(101); }), ElementsAre("/d/a.csv: content changed"));
}

TEST(PlanDifferencesTest, AnotherFileIsNamed) {
  EXPECT_THAT(After([](Plan* plan) {
                plan->mutable_train(1)->set_path("/d/c.csv");
                plan->mutable_train(1)->set_fingerprint("other");
              }),
              ElementsAre("data.train.files: file 2 is /d/c.csv, was /d/a2.csv with other content"));
}

TEST(PlanDifferencesTest, MoreFilesAreCounted) {
  EXPECT_THAT(After([](Plan* plan) { *plan->add_train() = plan->train(0); }), ElementsAre("data.train.files: 3 files, was 2"));
}

TEST(PlanDifferencesTest, TheSameDataMayHaveMoved) {
  EXPECT_THAT(After([](Plan* plan) {
                plan->mutable_train(0)->set_path("/moved/a.csv");
                plan->mutable_job()->mutable_data()->mutable_train()->set_files(0, "/moved/a.csv");
              }),
              IsEmpty());
}

TEST(PlanDifferencesTest, ALayoutOfAnotherVersionIsNamed) {
  EXPECT_THAT(After([](Plan* plan) { plan->mutable_schema()->add_fields("x.scaled"); }), ElementsAre("field 2: x.scaled, was nothing"));
  EXPECT_THAT(After([](Plan* plan) { plan->mutable_table()->mutable_segments(0)->set_dim(2); }), testing::SizeIs(1));
  EXPECT_THAT(After([](Plan* plan) { plan->mutable_variables(0)->add_shape(4); }), testing::SizeIs(1));
}

}  // namespace
}  // namespace tessera
