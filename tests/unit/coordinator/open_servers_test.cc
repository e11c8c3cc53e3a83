// What the servers are told of the job when they are opened.
#include "common/partition.h"
#include "common/sightings.h"
#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

class OpenServersTest : public CoordinatorFixture {
 protected:
  OpenServersTest() {
    Job* job = script_.plan.mutable_job();
    job->mutable_training()->set_epochs(1);
    job->mutable_storage()->mutable_memory_per_server()->set_bytes(12345);
    job->mutable_admission()->set_sightings(3);
    job->mutable_admission()->set_count(before);
    job->mutable_admission()->mutable_memory()->set_bytes(1);
    job->mutable_eviction()->set_rows(1000);
    job->mutable_data()->set_period(20);
    script_.plan.mutable_schema()->set_format(csv);
    for (const char* field : {"user", "item", "price.bucket"}) script_.plan.mutable_schema()->add_fields(field);
    for (uint32_t p = 0; p < kPartitions; ++p) script_.sightings.append(Sightings::kBytesMin, static_cast<char>(p));
  }
};

TEST_F(OpenServersTest, EveryServerHearsOfStorageAdmissionAndEviction) {
  RunJob(2, 3);
  for (const auto& server : servers_) {
    const OpenRequest open = server->opens().at(0);
    EXPECT_EQ(open.storage().memory_per_server().bytes(), 12345u);
    EXPECT_EQ(open.admission().sightings(), 3u);
    EXPECT_EQ(open.eviction().rows(), 1000u);
    EXPECT_EQ(open.step_ids(), (20 + 6) * 3u) << "20 rows, and the rare rows for each of 6 shares";
  }
}

TEST_F(OpenServersTest, WithoutAdmissionAStepHasNoRareRows) {
  script_.plan.mutable_job()->clear_admission();
  script_.sightings.clear();
  RunJob();
  EXPECT_EQ(servers_[0]->opens().at(0).step_ids(), 20 * 3u);
  EXPECT_FALSE(servers_[0]->opens().at(0).has_admission());
}

TEST_F(OpenServersTest, TheIdsOfALibsvmStepAreNotKnown) {
  script_.plan.mutable_schema()->set_format(libsvm);
  RunJob();
  EXPECT_EQ(servers_[0]->opens().at(0).step_ids(), 0u);
}

TEST_F(OpenServersTest, EachServerGetsTheSightingsOfItsPartitions) {
  RunJob(1, 3);
  std::string together;
  for (uint32_t s = 0; s < 3; ++s) {
    const std::string part = servers_[s]->opens().at(0).sightings();
    EXPECT_EQ(part.size(), (PartitionBegin(s + 1, 3) - PartitionBegin(s, 3)) * Sightings::kBytesMin);
    together += part;
  }
  EXPECT_EQ(together, script_.sightings);
  EXPECT_FALSE(workers_[0]->surveys.at(0).resumed());
}

TEST_F(OpenServersTest, ServersFromACheckpointKeepTheSightingsOfTheCheckpoint) {
  script_.plan.mutable_job()->mutable_training()->set_epochs(3);
  InterruptAt(5, "stopped");
  ASSERT_EQ(RunJob().state(), "interrupted");
  script_.on_step = nullptr;
  ASSERT_EQ(RunJob().state(), "finished") << Describe().message();
  EXPECT_TRUE(workers_[0]->surveys.at(0).resumed());
  ASSERT_NE(servers_[0]->opens().at(0).restore_from(), "");
  EXPECT_EQ(servers_[0]->opens().at(0).sightings(), "");
  EXPECT_EQ(servers_[0]->opens().at(0).admission().sightings(), 3u);
}

TEST_F(OpenServersTest, SightingsOfAnotherSizeAreRefused) {
  script_.sightings.pop_back();
  const Report report = RunJob();
  EXPECT_EQ(report.state(), "failed");
  EXPECT_THAT(report.message(), HasSubstr("admission.memory"));
}

TEST_F(OpenServersTest, DecisionsCarryThePeriodOfTheData) {
  RunJob();
  ASSERT_GE(workers_[0]->steps.size(), 2u);
  for (const StepTask& task : workers_[0]->steps) {
    EXPECT_EQ(task.decision().period(), task.decision().step() > 0 ? 20u : 0u);
  }
}

}  // namespace
}  // namespace tessera
