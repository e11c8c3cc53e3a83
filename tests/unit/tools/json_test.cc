#include "tools/json.h"

#include <limits>

#include "gtest/gtest.h"
#include "proto/coordinator.pb.h"
#include "proto/job.pb.h"

namespace tessera {
namespace {

std::string Line(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c != '\n' && c != ' ') out += c;
  }
  return out;
}

TEST(JsonTest, NestsObjectsAndArrays) {
  JsonWriter json;
  json.BeginObject().Key("a").BeginArray().Number(1).SignedNumber(-2).EndArray().Key("b").BeginObject().EndObject().EndObject();
  EXPECT_EQ(json.Finish(), "{\n  \"a\": [\n    1,\n    -2\n  ],\n  \"b\": {}\n}\n");
}

TEST(JsonTest, IntegersOf64BitsAreNumbers) {
  JsonWriter json;
  json.Number(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json.Finish(), "18446744073709551615\n");
}

TEST(JsonTest, WhatIsNotFiniteIsNull) {
  JsonWriter json;
  json.BeginArray()
      .Real(std::numeric_limits<double>::quiet_NaN())
      .Real(std::numeric_limits<double>::infinity())
      .Real(0.1f)
      .Real(1e300)
      .EndArray();
  EXPECT_EQ(Line(json.Finish()), "[null,null,0.1,1e+300]");
}

TEST(JsonTest, TextIsEscapedAndAlwaysUtf8) {
  JsonWriter json;
  json.BeginArray().String("a\"b\\c\n\x01").String("gr\xc3\xbc\xc3\x9f").String("cut \xc3").String("\xed\xa0\x80").EndArray();
  EXPECT_EQ(Line(json.Finish()), "[\"a\\\"b\\\\c\\n\\u0001\",\"gr\xc3\xbc\xc3\x9f\",\"cut\\ufffd\",\"\\ufffd\\ufffd\\ufffd\"]");
}

TEST(JsonTest, AnAbsentScoreIsNullAndZeroIsZero) {
  Score score;
  score.set_rows(3);
  score.set_logloss(0);
  JsonWriter json;
  json.Message(score);
  EXPECT_EQ(Line(json.Finish()), "{\"rows\":3,\"auc\":null,\"logloss\":0,\"calibration\":null,\"normalized_entropy\":null}");
}

TEST(JsonTest, EnumsGoByNameAndOnlyTheChosenMemberOfAOneofIsPrinted) {
  Optimizers optimizers;
  optimizers.mutable_sparse()->mutable_sgd()->set_learning_rate(0.5);
  FeatureRule rule;
  rule.set_as(numeric);
  rule.add_treat(bucket);
  JsonWriter json;
  json.BeginArray().Message(optimizers).Message(rule).EndArray();
  EXPECT_EQ(Line(json.Finish()),
            "[{\"sparse\":{\"sgd\":{\"learning_rate\":0.5,\"l2\":null}},\"dense\":null,\"first_order\":null},"
            "{\"match\":[],\"as\":\"numeric\",\"embedding\":\"\",\"treat\":[\"bucket\"]}]");
}

TEST(JsonTest, FieldsCanBeLeftOut) {
  Duration duration;
  duration.set_ms(5);
  JsonWriter json;
  json.BeginObject().Fields(duration, {"ms"}).EndObject();
  EXPECT_EQ(json.Finish(), "{}\n");
}

}  // namespace
}  // namespace tessera
