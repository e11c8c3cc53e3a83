#include "common/score.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "common/random.h"

namespace tessera {
namespace {

struct Sample {
  std::vector<float> logits;
  std::vector<float> labels;
};

// Overlapping classes: positives have the higher logits more often than not.
Sample RandomSample(uint64_t seed, size_t rows, double positive_rate) {
  RandomSequence random(seed);
  Sample sample;
  for (size_t i = 0; i < rows; ++i) {
    const bool positive = UniformDouble(random.Next()) < positive_rate;
    double sum = positive ? 0.5 : -0.5;
    for (int k = 0; k < 12; ++k) sum += UniformDouble(random.Next()) - 0.5;
    sample.logits.push_back(static_cast<float>(sum));
    sample.labels.push_back(positive ? 1.0f : 0.0f);
  }
  return sample;
}

// Probability that a positive stands above a negative, by sorting all rows; ties count half.
double RankAuc(const Sample& sample) {
  std::vector<std::pair<float, float>> rows;
  for (size_t i = 0; i < sample.logits.size(); ++i) rows.emplace_back(sample.logits[i], sample.labels[i]);
  std::sort(rows.begin(), rows.end());
  double pairs = 0, negatives = 0, positives = 0;
  for (size_t i = 0; i < rows.size();) {
    double p = 0, n = 0;
    size_t k = i;
    for (; k < rows.size() && rows[k].first == rows[i].first; ++k) (rows[k].second > 0.5f ? p : n) += 1;
    pairs += p * (negatives + n / 2);
    positives += p;
    negatives += n;
    i = k;
  }
  return pairs / positives / negatives;
}

Score ScoreOf(const Sample& sample) {
  ScoreCounter counter;
  counter.Add(0, sample.logits, sample.labels);
  return counter.Finish();
}

TEST(ScoreCounterTest, AucIsTheRankAuc) {
  for (uint64_t seed : {1, 2, 3}) {
    const Sample sample = RandomSample(seed, 50000, 0.2);
    EXPECT_NEAR(ScoreOf(sample).auc(), RankAuc(sample), 1e-6);
  }
}

TEST(ScoreCounterTest, TiesCountHalf) {
  const Score score = ScoreOf({{0.5f, 0.5f, -1.0f, 2.0f}, {1, 0, 0, 1}});
  EXPECT_DOUBLE_EQ(score.auc(), 3.5 / 4);
}

TEST(ScoreCounterTest, PerfectAndReversedOrdersGiveOneAndZero) {
  EXPECT_EQ(ScoreOf({{-1, -2, 3, 4, 5}, {0, 0, 1, 1, 1}}).auc(), 1.0);
  EXPECT_EQ(ScoreOf({{1, 2, -3, -4, -5}, {0, 0, 1, 1, 1}}).auc(), 0.0);
}

TEST(ScoreCounterTest, AConstantPredictorGetsExactlyOneHalf) {
  for (int positives : {1, 3, 333, 9999}) {
    Sample sample{std::vector<float>(10000, -1.7f), std::vector<float>(10000, 0.0f)};
    std::fill_n(sample.labels.begin(), positives, 1.0f);
    EXPECT_EQ(ScoreOf(sample).auc(), 0.5);
  }
}

// More pairs than a double counts exactly.
TEST(ScoreCounterTest, AConstantPredictorGetsExactlyOneHalfOnHugeCounts) {
  ScoreCounts counts;
  counts.add_cells(5);
  counts.add_positives(864513224102);
  counts.add_negatives(393970699565);
  BlockScore* const block = counts.add_blocks();
  block->set_rows(864513224102 + 393970699565);
  block->set_positives(864513224102);
  ScoreCounter counter;
  ASSERT_TRUE(counter.Merge(counts).ok());
  EXPECT_EQ(counter.Finish().auc(), 0.5);
}

TEST(ScoreCounterTest, OneClassAloneHasNoAuc) {
  const Score negatives = ScoreOf({{0.1f, -0.2f}, {0, 0}});
  EXPECT_FALSE(negatives.has_auc());
  EXPECT_FALSE(negatives.has_calibration());
  EXPECT_FALSE(negatives.has_normalized_entropy());
  EXPECT_TRUE(negatives.has_logloss());
  const Score positives = ScoreOf({{0.1f, -0.2f}, {1, 1}});
  EXPECT_FALSE(positives.has_auc());
  EXPECT_FALSE(positives.has_normalized_entropy());
  EXPECT_TRUE(positives.has_calibration());
}

TEST(ScoreCounterTest, NoRowsHaveNoScoreAtAll) {
  for (const Score& score : {ScoreCounter().Finish(), ScoreOf({})}) {
    EXPECT_EQ(score.rows(), 0u);
    EXPECT_FALSE(score.has_auc() || score.has_logloss() || score.has_calibration() || score.has_normalized_entropy());
  }
}

TEST(ScoreCounterTest, CopiesOfAFileScoreLikeTheFile) {
  const Sample sample = RandomSample(4, 16281, 0.24);
  ScoreCounter counter;
  for (uint64_t copy = 0; copy < 25; ++copy) counter.Add(copy, sample.logits, sample.labels);
  const Score one = ScoreOf(sample), all = counter.Finish();
  EXPECT_EQ(all.rows(), 25 * one.rows());
  EXPECT_NEAR(all.auc(), one.auc(), 1e-9);
  EXPECT_NEAR(all.logloss(), one.logloss(), 1e-9);
  EXPECT_NEAR(all.calibration(), one.calibration(), 1e-9);
}

TEST(ScoreCounterTest, KnownRowsHaveKnownScores) {
  const Score score = ScoreOf({{0.0f, 0.0f, 0.0f, 0.0f}, {1, 0, 0, 0}});
  EXPECT_DOUBLE_EQ(score.logloss(), std::log(2.0));
  EXPECT_DOUBLE_EQ(score.calibration(), 2.0);
  EXPECT_DOUBLE_EQ(score.normalized_entropy(), std::log(2.0) / -(0.25 * std::log(0.25) + 0.75 * std::log(0.75)));
}

void ExpectSameBits(const Score& a, const Score& b) { EXPECT_EQ(a.SerializeAsString(), b.SerializeAsString()); }

TEST(ScoreCounterTest, WorkersMergedInAnyOrderScoreLikeOne) {
  constexpr size_t kBlocks = 23, kBlockRows = 700;
  const Sample sample = RandomSample(5, kBlocks * kBlockRows, 0.3);
  const auto add = [&](uint64_t block, ScoreCounter* counter) {
    counter->Add(block, absl::MakeSpan(sample.logits).subspan(block * kBlockRows, kBlockRows),
                 absl::MakeSpan(sample.labels).subspan(block * kBlockRows, kBlockRows));
  };
  ScoreCounter whole;
  for (uint64_t block = 0; block < kBlocks; ++block) add(block, &whole);
  for (uint32_t workers : {1u, 2u, 3u, 7u}) {
    std::vector<ScoreCounts> counts(workers);
    for (uint32_t w = 0; w < workers; ++w) {
      ScoreCounter counter;
      for (uint64_t block = kBlocks; block-- > 0;) {
        if (block % workers == w) add(block, &counter);
      }
      counter.Encode(&counts[w]);
    }
    for (bool reversed : {false, true}) {
      ScoreCounter merged;
      if (reversed) std::reverse(counts.begin(), counts.end());
      for (const ScoreCounts& part : counts) ASSERT_TRUE(merged.Merge(part).ok());
      ExpectSameBits(merged.Finish(), whole.Finish());
    }
  }
}

TEST(ScoreCounterTest, BatchesOfABlockScoreLikeTheBlock) {
  const Sample sample = RandomSample(6, 1000, 0.5);
  for (size_t batch : {1, 7, 128, 999}) {
    ScoreCounter counter;
    for (size_t begin = 0; begin < 1000; begin += batch) {
      counter.Add(0, absl::MakeSpan(sample.logits).subspan(begin, batch), absl::MakeSpan(sample.labels).subspan(begin, batch));
    }
    ExpectSameBits(counter.Finish(), ScoreOf(sample));
  }
}

TEST(ScoreCounterTest, ABlockScoredTwiceIsRefused) {
  ScoreCounter a, b;
  a.Add(3, {0.5f}, {1.0f});
  b.Add(3, {0.5f}, {1.0f});
  ScoreCounts counts;
  b.Encode(&counts);
  EXPECT_EQ(a.Merge(counts).message(), "score counts: block 3 was scored twice");
  EXPECT_EQ(a.Finish().rows(), 1u);
}

TEST(ScoreCounterTest, ABlockThatStandsTwiceInOneAnswerIsRefused) {
  ScoreCounts counts;
  counts.add_blocks()->set_block(4);
  counts.add_blocks()->set_block(4);
  EXPECT_FALSE(ScoreCounter().Merge(counts).ok());
}

TEST(ScoreCounterTest, CountsThatNoRowsCanGiveAreRefused) {
  ScoreCounter counter;
  counter.Add(4, {0.5f, 0.25f, -1.0f}, {1.0f, 0.0f, 0.0f});
  ScoreCounts good;
  counter.Encode(&good);
  struct Case {
    void (*change)(ScoreCounts*);
    const char* message;
  };
  const Case cases[] = {
      {[](ScoreCounts* c) { c->mutable_blocks(0)->set_logloss(std::nan("")); }, "block 4: a sum is not a finite number"},
      {[](ScoreCounts* c) { c->mutable_blocks(0)->set_prediction(HUGE_VAL); }, "block 4: a sum is not a finite number"},
      {[](ScoreCounts* c) { c->mutable_blocks(0)->set_positives(4); }, "block 4: 4 positives of 3 rows"},
      {[](ScoreCounts* c) { c->mutable_blocks(0)->set_positives(2); }, "the cells and the blocks count different rows"},
      {[](ScoreCounts* c) { c->mutable_blocks(0)->set_rows(4); }, "the cells and the blocks count different rows"},
      {[](ScoreCounts* c) { c->clear_blocks(); }, "the cells and the blocks count different rows"},
      {[](ScoreCounts* c) { c->mutable_blocks(0)->set_rows(~uint64_t{0}); }, "more than"},
  };
  for (const Case& c : cases) {
    ScoreCounts bad = good;
    c.change(&bad);
    ScoreCounter merged;
    const absl::Status status = merged.Merge(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(status.message()).find(c.message), std::string::npos) << status;
    EXPECT_TRUE(merged.Merge(good).ok());
  }
}

TEST(ScoreCounterTest, ListsOfDifferentLengthAreRefused) {
  ScoreCounts counts;
  counts.add_cells(1);
  counts.add_positives(1);
  EXPECT_FALSE(ScoreCounter().Merge(counts).ok());
}

TEST(ScoreCellTest, CellsAscendWithTheLogitAndShareTheEnds) {
  float last = -40;
  for (float logit = -40; logit <= 40; logit += 0.125f) {
    ASSERT_LE(ScoreCell(last), ScoreCell(logit));
    last = logit;
  }
  EXPECT_EQ(ScoreCell(-33), ScoreCell(-1e30f));
  EXPECT_EQ(ScoreCell(33), ScoreCell(1e30f));
  EXPECT_LT(ScoreCell(-0.25f), ScoreCell(-0.25f + 0x1p-17f));
}

TEST(LogLossTest, ExtremeLogitsStayFinite) {
  EXPECT_DOUBLE_EQ(LogLoss(0, 1), std::log(2.0));
  EXPECT_DOUBLE_EQ(LogLoss(1000, 0), 1000);
  EXPECT_DOUBLE_EQ(LogLoss(1000, 1), 0);
  EXPECT_DOUBLE_EQ(LogLoss(-1000, 1), 1000);
  EXPECT_TRUE(std::isfinite(LogLoss(std::numeric_limits<float>::max(), 0)));
}

TEST(SigmoidTest, ExtremeLogitsGiveZeroAndOne) {
  EXPECT_EQ(Sigmoid(0), 0.5f);
  EXPECT_EQ(Sigmoid(1e30f), 1.0f);
  EXPECT_EQ(Sigmoid(-1e30f), 0.0f);
}

}  // namespace
}  // namespace tessera
