#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/model/model_case.h"
#include "worker/compute/cpu/cpu_backend.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DescribeModelTest, NamesEveryVariableInOrder) {
  const Plan plan = MakePlanFor({.fields = 3, .dense = 2, .dim = 4, .hidden = {7, 5}});
  std::vector<std::string> names;
  for (const VariableSpec& variable : plan.variables()) names.push_back(variable.name());
  EXPECT_THAT(names, ElementsAre("mlp.0.weight", "mlp.0.bias", "mlp.1.weight", "mlp.1.bias", "mlp.out.weight", "bias", "dense.weight"));
  EXPECT_THAT(plan.variables(0).shape(), ElementsAre(14, 7));
  EXPECT_THAT(plan.variables(4).shape(), ElementsAre(5, 1));
  EXPECT_FLOAT_EQ(plan.variables(0).initializer().uniform_bound(), std::sqrt(6.0f / 21));
  EXPECT_FLOAT_EQ(plan.variables(5).initializer().constant(), std::log(0.25f / 0.75f));
  EXPECT_EQ(plan.table().name(), "features");
  EXPECT_EQ(plan.table().segments(0).name(), "weight");
  EXPECT_TRUE(plan.table().segments(0).initializer().has_constant());
  EXPECT_EQ(plan.table().segments(1).dim(), 4);
  EXPECT_FLOAT_EQ(plan.table().segments(1).initializer().normal_stddev(), 0.01f);
  EXPECT_TRUE(plan.table().segments(1).optimizer().has_sgd());
  EXPECT_TRUE(plan.variables(6).optimizer().has_sgd());
}

TEST(DescribeModelTest, AClickRateOfZeroOrOneStillGivesAFiniteBias) {
  for (double rate : {0.0, 1.0}) {
    Plan plan = MakePlanFor({.hidden = {}});
    plan.set_click_rate(rate);
    ASSERT_TRUE(DescribeModel(&plan).ok());
    EXPECT_NEAR(std::abs(plan.variables(0).initializer().constant()), 9.21, 0.01);
  }
}

TEST(DescribeModelTest, FirstOrderWeightsHaveTheirOwnOptimizerAndRate) {
  Plan plan = MakePlanFor({});
  EXPECT_FALSE(plan.table().segments(0).has_rate_scale()) << "without one of their own they go with the embeddings";
  EXPECT_TRUE(plan.table().segments(0).optimizer().has_sgd());
  Ftrl* const ftrl = plan.mutable_job()->mutable_optimizers()->mutable_first_order()->mutable_ftrl();
  EXPECT_THAT(std::string(DescribeModel(&plan).message()), HasSubstr("optimizers.first_order.ftrl.learning_rate: not set"));
  ftrl->set_learning_rate(0.05);
  ftrl->set_beta(1);
  ftrl->set_l1(0.5);
  ftrl->set_l2(0);
  ASSERT_TRUE(DescribeModel(&plan).ok());
  const Segment& weight = plan.table().segments(0);
  EXPECT_EQ(weight.optimizer().ftrl().l1(), 0.5);
  EXPECT_DOUBLE_EQ(weight.rate_scale(), 0.5) << "0.05 to the 0.1 of the embeddings, which a step carries";
  EXPECT_TRUE(plan.table().segments(1).optimizer().has_sgd());
  EXPECT_FALSE(plan.table().segments(1).has_rate_scale());
}

TEST(DescribeModelTest, EveryStartOfAnEmbeddingEndsInItsSegment) {
  const auto start_of = [](const std::function<void(RowInitializer*)>& choose) {
    Plan plan = MakePlanFor({.dim = 5});
    choose(plan.mutable_job()->mutable_model()->mutable_embedding_initializer());
    EXPECT_TRUE(DescribeModel(&plan).ok());
    EXPECT_EQ(plan.table().segments(0).initializer().constant(), 0) << "first-order weights start at 0 whatever the embeddings do";
    EXPECT_TRUE(plan.table().segments(0).initializer().has_constant());
    return plan.table().segments(1).initializer();
  };
  const Initializer zero = start_of([](RowInitializer* start) { start->mutable_zero(); });
  EXPECT_TRUE(zero.has_constant());
  EXPECT_EQ(zero.constant(), 0);
  EXPECT_EQ(start_of([](RowInitializer* start) { start->mutable_uniform()->set_bound(0.25); }).uniform_bound(), 0.25f);
  EXPECT_EQ(start_of([](RowInitializer* start) { start->mutable_normal()->set_stddev(0.5); }).normal_stddev(), 0.5f);
  EXPECT_FLOAT_EQ(start_of([](RowInitializer* start) { start->mutable_xavier(); }).uniform_bound(), 1) << "sqrt(6 / (1 + 5))";
}

std::string ErrorOf(const std::function<void(Plan*)>& change) {
  Plan plan = MakePlanFor({});
  change(&plan);
  return std::string(DescribeModel(&plan).message());
}

TEST(DescribeModelTest, ErrorsNameTheKey) {
  const auto model = [](Plan* plan) { return plan->mutable_job()->mutable_model(); };
  EXPECT_THAT(ErrorOf([&](Plan* p) { model(p)->set_embedding_dim(0); }), HasSubstr("model.embedding_dim: 0"));
  EXPECT_THAT(ErrorOf([&](Plan* p) { model(p)->set_hidden(1, 0); }), HasSubstr("model.hidden[1]: 0"));
  EXPECT_THAT(ErrorOf([&](Plan* p) { model(p)->set_dropout(1); }), HasSubstr("model.dropout: 1"));
  EXPECT_THAT(ErrorOf([&](Plan* p) { model(p)->set_dropout(std::nan("")); }), HasSubstr("model.dropout"));
  EXPECT_THAT(ErrorOf([&](Plan* p) { model(p)->clear_type(); }), HasSubstr("model.type"));
  EXPECT_THAT(ErrorOf([&](Plan* p) { p->mutable_schema()->clear_fields(); }), HasSubstr("features:"));
  EXPECT_THAT(ErrorOf([&](Plan* p) { p->mutable_job()->mutable_optimizers()->clear_dense(); }), HasSubstr("optimizers.dense: not set"));
  EXPECT_THAT(ErrorOf([&](Plan* p) { p->mutable_job()->mutable_optimizers()->mutable_sparse()->mutable_adam()->set_beta1(0.9); }),
              HasSubstr("optimizers.sparse.adam.learning_rate: not set"));
}

TEST(CreateModelTest, APlanOfAnotherModelIsRefused) {
  ThreadPool pool(1);
  const auto backend = MakeCpuBackend(&pool);
  Plan plan = MakePlanFor({});
  plan.mutable_variables(0)->set_shape(0, 3);
  EXPECT_THAT(std::string(CtrModel::Create(plan, backend.get()).status().message()), HasSubstr("mlp.0.weight"));
  plan = MakePlanFor({});
  plan.mutable_table()->mutable_segments(1)->set_dim(9);
  EXPECT_THAT(std::string(CtrModel::Create(plan, backend.get()).status().message()), HasSubstr("plan.table"));
  plan = MakePlanFor({});
  plan.mutable_variables()->RemoveLast();
  EXPECT_THAT(std::string(CtrModel::Create(plan, backend.get()).status().message()), HasSubstr("plan.variables"));
}

}  // namespace
}  // namespace tessera
