#include "tools/row_name.h"

#include "common/feature_id.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

Plan NamedPlan() {
  Plan plan;
  plan.mutable_job()->mutable_data()->mutable_csv()->add_missing("?");
  plan.mutable_job()->mutable_data()->set_format(csv);
  Schema* schema = plan.mutable_schema();
  schema->set_format(csv);
  Column* clicked = schema->add_columns();
  clicked->set_name("clicked");
  clicked->set_role(Column::CATEGORICAL);
  clicked->set_embedding("item");
  Column* age = schema->add_columns();
  age->set_name("age");
  age->set_role(Column::NUMERIC);
  age->add_treat(bucket);
  age->add_treat(scaled);
  for (const float edge : {10.0f, 20.0f}) age->mutable_numeric()->add_edges(edge);
  for (const char* field : {"clicked", "age.bucket", "age.scaled"}) schema->add_fields(field);
  return plan;
}

TEST(RowIdOfTest, IsTheIdThatReadersLookUp) {
  const Plan plan = NamedPlan();
  const TokenHasher item("item"), age("age");
  EXPECT_EQ(*RowIdOf(plan, "clicked=7"), item.Id("7"));
  EXPECT_EQ(*RowIdOf(plan, "clicked=a=b"), item.Id("a=b"));
  EXPECT_EQ(*RowIdOf(plan, "clicked=?"), TokenHasher("clicked").MissingId());
  EXPECT_EQ(*RowIdOf(plan, "age=15"), age.BucketId(1));
  EXPECT_EQ(*RowIdOf(plan, "age.bucket=20"), age.BucketId(2));
  EXPECT_EQ(*RowIdOf(plan, "age=?"), age.MissingId());
  EXPECT_EQ(*RowIdOf(plan, "age.scaled=15"), age.ScaledId());
}

TEST(RowIdOfTest, AnIndexOfLibsvmHasOneRowInAnyField) {
  Plan plan;
  plan.mutable_schema()->set_format(libsvm);
  plan.mutable_schema()->add_fields("3..9");
  EXPECT_EQ(*RowIdOf(plan, "3..9=5"), TokenHasher("index").Id("5"));
  EXPECT_EQ(*RowIdOf(plan, "index=5"), TokenHasher("index").Id("5"));
}

TEST(RowIdOfTest, WhatNamesNoRowIsRefusedWithTheFieldsThereAre) {
  const Plan plan = NamedPlan();
  EXPECT_THAT(std::string(RowIdOf(plan, "item=7").status().message()), HasSubstr("clicked, age.bucket, age.scaled"));
  EXPECT_THAT(std::string(RowIdOf(plan, "clicked").status().message()), HasSubstr("field=token"));
  EXPECT_THAT(std::string(RowIdOf(plan, "age=old").status().message()), HasSubstr("not a number"));
}

}  // namespace
}  // namespace tessera
