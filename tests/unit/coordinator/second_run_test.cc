// A job started again: finished, changed, interrupted.
#include "tests/unit/coordinator/coordinator_fixture.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SecondRunTest : public CoordinatorFixture {};

TEST_F(SecondRunTest, AFinishedJobSaysSo) {
  const Report first = RunJob();
  const Report second = RunJob();
  EXPECT_EQ(second.state(), "finished");
  EXPECT_TRUE(second.was_finished());
  EXPECT_FALSE(first.was_finished());
  EXPECT_EQ(workers_[0]->last.stop().code(), 0);
  EXPECT_TRUE(workers_[0]->steps.empty());
  EXPECT_TRUE(servers_[0]->opens().empty());
  EXPECT_EQ(second.rows(), 0);
  EXPECT_EQ(second.total_rows(), first.total_rows());
  EXPECT_EQ(second.evaluation().SerializeAsString(), first.evaluation().SerializeAsString());
  EXPECT_EQ(second.checkpoint(), first.checkpoint());
}

TEST_F(SecondRunTest, AChangedPlanIsRefusedWithItsLines) {
  RunJob();
  script_.plan.mutable_job()->mutable_training()->set_batch_size(21);
  const Report report = RunJob();
  EXPECT_EQ(report.state(), "failed");
  EXPECT_THAT(report.message(), AllOf(HasSubstr("training.batch_size"), HasSubstr("21"), HasSubstr("20"), HasSubstr("--fresh")));
  EXPECT_EQ(workers_[0]->last.stop().code(), static_cast<int>(absl::StatusCode::kFailedPrecondition));
  EXPECT_TRUE(servers_[0]->opens().empty());
}

TEST_F(SecondRunTest, AnInterruptDuringAnEvaluationComesAfterIt) {
  InterruptAt(3, "interrupted");
  const Report report = RunJob();
  EXPECT_EQ(report.message(), "interrupted at step 3; the same command resumes");
  EXPECT_EQ(report.evaluations_size(), 1);
  EXPECT_EQ(Newest().manifest.state().report().evaluations_size(), 1);
  EXPECT_TRUE(coordinator_->Interrupt("again").ok());
  EXPECT_EQ(Describe().message(), report.message());
}

TEST_F(SecondRunTest, AResumedRunKeepsTheStatisticsOfItsCheckpoint) {
  Column* column = script_.plan.mutable_schema()->add_columns();
  column->set_name("age");
  column->mutable_numeric()->add_edges(30);
  InterruptAt(5, "interrupted");
  ASSERT_EQ(RunJob().state(), "interrupted");
  script_.on_step = nullptr;
  column->mutable_numeric()->set_edges(0, 31);  // as another version of the program would survey
  script_.plan.set_click_rate(0.25);
  script_.plan.mutable_train(0)->set_path("/moved/adult.csv");
  RunJob();
  const Plan& plan = workers_[0]->steps[0].plan();
  EXPECT_EQ(plan.schema().columns(0).numeric().edges(0), 30);
  EXPECT_EQ(plan.click_rate(), 0);
  EXPECT_EQ(plan.train(0).path(), "/moved/adult.csv");
}

}  // namespace
}  // namespace tessera
