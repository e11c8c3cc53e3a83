#include "worker/model/graph.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "worker/model/layers.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

// Values x [4] -> hidden [3] -> output, with a first layer that writes x.
struct Parts {
  Graph graph;
  EmbedLayer embed;
  HiddenLayer hidden;
  OutputLayer output;
};

Parts MakeParts(uint64_t weight_rows) {
  Parts p;
  Graph& g = p.graph;
  g.set_inputs(2, 0);
  g.AddSegment("weight", 1, {});
  g.AddSegment("embedding", 2, {});
  p.embed.sums = g.AddValue({.name = "sums", .width = 2});
  p.embed.x = p.hidden.input = g.AddValue({.name = "x", .width = 4, .gradient_width = 4});
  p.hidden.weight = g.AddVariable("w", {weight_rows, 3}, {});
  const int bias = g.AddVariable("b", {3}, {});
  p.hidden.output = p.output.h = g.AddValue({.name = "h", .width = 3, .gradient_width = 3, .bias = bias});
  p.output.weight = g.AddVariable("out", {3, 1}, {});
  p.output.bias = g.AddVariable("bias", {1}, {});
  return p;
}

std::string Check(Parts p, bool with_hidden = true) {
  p.graph.AddLayer(std::make_unique<EmbedLayer>(p.embed));
  if (with_hidden) p.graph.AddLayer(std::make_unique<HiddenLayer>(p.hidden));
  p.graph.AddLayer(std::make_unique<OutputLayer>(p.output));
  return std::string(p.graph.Check().message());
}

TEST(GraphTest, AGraphWhoseShapesFitPasses) { EXPECT_EQ(Check(MakeParts(4)), ""); }

TEST(GraphTest, AWrongShapeIsFoundBeforeTheFirstStep) {
  EXPECT_THAT(Check(MakeParts(5)), HasSubstr("layer mlp.0: variable w is [5, 3], but the layer needs [4, 3]"));
  Parts wide = MakeParts(4);
  wide.graph.set_inputs(3, 0);
  EXPECT_THAT(Check(std::move(wide)), HasSubstr("value x is 4 wide (gradient 4), but the layer needs 6 (gradient 6)"));
  Parts dense = MakeParts(4);
  dense.graph.set_inputs(1, 2);
  EXPECT_THAT(Check(std::move(dense)), HasSubstr("value x"));
}

TEST(GraphTest, EveryValueIsWrittenOnceBeforeItIsReadOnce) {
  EXPECT_THAT(Check(MakeParts(4), false), HasSubstr("layer output reads value 2"));
  Parts unread = MakeParts(4);
  unread.output.h = -1;
  EXPECT_THAT(Check(std::move(unread)), HasSubstr("value h wants a gradient"));
  Parts missing = MakeParts(4);
  missing.graph.AddValue({.name = "lost", .width = 1});
  EXPECT_THAT(Check(std::move(missing)), HasSubstr("value lost is written by no layer"));
}

}  // namespace
}  // namespace tessera
