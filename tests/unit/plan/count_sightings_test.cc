#include "worker/plan/count_sightings.h"

#include <map>

#include "common/partition.h"
#include "common/random.h"
#include "common/sightings.h"
#include "gmock/gmock.h"
#include "tests/unit/plan/plan_fixture.h"
#include "worker/batch/row_stream.h"
#include "worker/data/input.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// Two files of rows, some of them held out.
class CountSightingsTest : public PlanFixture {
 protected:
  void SetUp() override {
    PlanFixture::SetUp();
    for (uint64_t file = 0; file < 2; ++file) {
      std::string text = "click,user,item,price\n";
      for (uint64_t i = 0; i < 400; ++i) {
        RandomSequence random(file * 1000 + i);
        absl::StrAppend(&text, random.Below(2), ",u", random.Below(random.Below(300) + 1), ",i", random.Below(50), ",", random.Below(900), "\n");
      }
      plan_.add_train()->set_path(Write(absl::StrCat(file, ".csv"), text));
    }
    for (InputFile& file : *plan_.mutable_train()) file = *DescribeFile(file.path());
    Job* job = plan_.mutable_job();
    job->set_seed(3);
    job->mutable_data()->set_format(csv);
    job->mutable_data()->mutable_csv()->set_separator(",");
    job->mutable_data()->mutable_csv()->set_quote("\"");
    job->mutable_data()->mutable_csv()->set_header(true);
    job->mutable_data()->add_labels()->set_column("click");
    job->mutable_data()->mutable_block_bytes()->set_bytes(1000);
    job->mutable_data()->mutable_evaluate()->set_holdout(0.3);
    job->mutable_admission()->set_sightings(4);
    job->mutable_admission()->set_count(before);
    job->mutable_admission()->mutable_memory()->set_bytes(uint64_t{1} << 20);
    Schema* schema = plan_.mutable_schema();
    schema->set_format(csv);
    for (const char* name : {"click", "user", "item", "price"}) {
      Column* column = schema->add_columns();
      column->set_name(name);
      column->set_role(Column::CATEGORICAL);
      column->set_embedding(name);
    }
    schema->mutable_columns(0)->set_role(Column::LABEL);
    Column* price = schema->mutable_columns(3);
    price->set_role(Column::NUMERIC);
    price->add_treat(bucket);
    price->add_treat(scaled);
    for (int i = 0; i < 10; ++i) price->mutable_numeric()->add_edges(static_cast<float>(i * 90));
    price->mutable_numeric()->set_stddev(1);
    for (const char* name : {"user", "item", "price.bucket", "price.scaled"}) schema->add_fields(name);
  }

  std::string Count(int threads) {
    ThreadPool pool(threads);
    const auto counted = CountSightings(plan_, &pool, nullptr);
    EXPECT_TRUE(counted.ok()) << counted.status();
    return counted.value_or("");
  }

  Plan plan_;
};

TEST_F(CountSightingsTest, EveryOccurrenceThatIsTrainedOnIsCounted) {
  std::map<uint64_t, uint32_t> exact;
  const auto input = *Input::Open(plan_, plan_.train(), ReadOptions());
  ASSERT_GT(input->block_count(), 10u);
  Rows rows;
  for (uint64_t block = 0; block < input->block_count(); ++block) ASSERT_TRUE(input->ReadBlock(block, &rows).ok());
  ASSERT_EQ(rows.size(), 800u);
  size_t held_out = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    held_out += IsHeldOut(plan_, rows.keys[i]);
    for (size_t f = 0; f < 4 && !IsHeldOut(plan_, rows.keys[i]); ++f) ++exact[rows.ids[i * 4 + f]];
  }
  ASSERT_GT(held_out, 100u);

  const std::string counted = Count(2);
  const size_t bytes = Sightings::BytesPerPartition(uint64_t{1} << 20);
  ASSERT_EQ(counted.size(), kPartitions * bytes);
  int wrong = 0;
  for (const uint64_t id : rows.ids) {
    Sightings partition(bytes);
    ASSERT_TRUE(partition.Load(counted.substr(PartitionOf(id) * bytes, bytes)).ok());
    wrong += partition.Count(id) != std::min(exact[id], Sightings::kCountMax);
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(CountSightingsTest, TheCountersDoNotDependOnThreads) {
  const std::string one = Count(1);
  EXPECT_EQ(Count(2), one);
  EXPECT_EQ(Count(7), one);
}

TEST_F(CountSightingsTest, ABadRowIsNamed) {
  plan_.mutable_train()->Mutable(1)->CopyFrom(*DescribeFile(Write("1.csv", "click,user,item,price\n1,u,i,3\n1,u,i,x\n")));
  ThreadPool pool(2);
  EXPECT_THAT(std::string(CountSightings(plan_, &pool, nullptr).status().message()), HasSubstr("1.csv:3"));
}

TEST_F(CountSightingsTest, AStoppedWorkerStopsCounting) {
  const std::atomic<bool> stopping = true;
  ThreadPool pool(1);
  EXPECT_EQ(CountSightings(plan_, &pool, &stopping).status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace tessera
