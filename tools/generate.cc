#include "tools/generate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/score.h"
#include "common/status_macros.h"
#include "tools/zipf.h"

namespace tessera {
namespace {

constexpr int kNumerics = 13;
constexpr int kFactors = 8;
// Ids per categorical field: Criteo's own sizes, the largest cut down so that all are 2,000,000.
constexpr std::array<uint32_t, 26> kFieldIds = {1400, 560,   380000, 150000, 300,  24,   12000, 630,    3,  60000, 5300,   340000, 3100,
                                                26,   11000, 300000, 10,     4600, 2000, 4,     330000, 18, 15,    220000, 86,     178924};
constexpr int kCategoricals = static_cast<int>(kFieldIds.size());
constexpr double kZipfExponent = 1.05;
constexpr double kNumericMissing = 0.12;
constexpr double kCategoricalMissing = 0.08;  // of every fifth field
// Spread of the planted weights: together they give logits a standard deviation a little under one, as click data has.
constexpr float kWeightStddev = 0.30f, kFactorStddev = 0.12f, kNumericWeightStddev = 0.15f, kNumericFactorStddev = 0.06f;
constexpr uint64_t kCalibrationRows = 20000;
constexpr int64_t kLinesPerPiece = 4096;

double Normal(RandomSequence* random) {
  const double u = UniformDouble(random->Next()), angle = UniformDouble(random->Next());
  return std::sqrt(-2 * std::log1p(-u)) * std::cos(2 * M_PI * angle);
}

// What the planted model knows of one id, or of one numeric's unit.
struct Effect {
  float weight;
  std::array<float, kFactors> factors;
};

// Uniform values of the given standard deviations, made anew at every use: quicker than looking them up in a table of 72 MB.
Effect MakeEffect(uint64_t key, float weight_stddev, float factor_stddev) {
  RandomSequence random(key);
  const auto draw = [&random](float stddev) { return stddev * 3.4641016f * (UniformFloat(random.Next()) - 0.5f); };
  Effect effect;
  effect.weight = draw(weight_stddev);
  for (float& factor : effect.factors) factor = draw(factor_stddev);
  return effect;
}

// A bijection of the ids, so that a token does not tell how frequent it is.
uint32_t Scramble(uint32_t x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

void AppendHex(uint32_t x, std::string* out) {
  char digits[8];
  for (int i = 7; i >= 0; --i, x >>= 4) digits[i] = "0123456789abcdef"[x & 15];
  out->append(digits, sizeof digits);
}

struct Row {
  std::array<int, kNumerics> numerics;     // -1: missing
  std::array<int64_t, kCategoricals> ids;  // over all fields; -1: missing
  double logit;                            // without the bias
  double chance;                           // a click if it is below the click probability
};

void AppendLine(const Row& row, bool click, std::string* out) {
  out->push_back(click ? '1' : '0');
  for (int value : row.numerics) {
    out->push_back('\t');
    if (value >= 0) absl::StrAppend(out, value);
  }
  for (int64_t id : row.ids) {
    out->push_back('\t');
    if (id >= 0) AppendHex(Scramble(static_cast<uint32_t>(id) + 1), out);
  }
  out->push_back('\n');
}

}  // namespace

class ClickLog::World {
 public:
  World(uint64_t seed, double click_rate, ThreadPool* pool) : seed_(seed) {
    uint32_t ids = 0;
    for (uint32_t size : kFieldIds) {
      begins_.push_back(ids);
      zipfs_.emplace_back(size, kZipfExponent);
      ids += size;
    }
    for (int j = 0; j < kNumerics; ++j) numeric_effects_[j] = MakeEffect(MixKey(seed_, 2, j), kNumericWeightStddev, kNumericFactorStddev);
    FindBias(click_rate, pool);
  }

  double bias() const { return bias_; }

  Row Make(uint64_t index) const { return MakeFrom(RandomSequence(MixKey(seed_, 3, index))); }

 private:
  Row MakeFrom(RandomSequence random) const {
    Row row;
    double linear = 0, squares = 0;
    std::array<float, kFactors> sums = {};
    const auto add = [&](const Effect& effect, float x) {
      linear += effect.weight * x;
      for (int d = 0; d < kFactors; ++d) {
        const float term = effect.factors[d] * x;
        sums[d] += term;
        squares += term * term;
      }
    };
    for (int j = 0; j < kNumerics; ++j) {
      row.numerics[j] = -1;
      if (UniformDouble(random.Next()) < kNumericMissing) continue;
      row.numerics[j] = std::max(0, static_cast<int>(std::exp(1.2 * Normal(&random) + 0.25 * j + 0.5)) - 1);
      add(numeric_effects_[j], static_cast<float>(0.4 * std::log1p(row.numerics[j])));
    }
    for (int j = 0; j < kCategoricals; ++j) {
      row.ids[j] = -1;
      if (j % 5 == 4 && UniformDouble(random.Next()) < kCategoricalMissing) continue;
      row.ids[j] = begins_[j] + zipfs_[j].Draw(&random) - 1;
      add(MakeEffect(MixKey(seed_, 1, row.ids[j]), kWeightStddev, kFactorStddev), 1.0f);
    }
    double pairs = -squares;
    for (float sum : sums) pairs += static_cast<double>(sum) * sum;
    row.logit = linear + pairs / 2;
    row.chance = UniformDouble(random.Next());
    return row;
  }

  // The bias at which the mean probability of rows that are in no log is the click rate.
  void FindBias(double click_rate, ThreadPool* pool) {
    std::vector<double> logits(kCalibrationRows);
    pool->ParallelFor(kCalibrationRows, [&](int64_t i) { logits[i] = MakeFrom(RandomSequence(MixKey(seed_, 4, i))).logit; });
    double low = -40, high = 40;
    for (int round = 0; round < 60; ++round) {
      bias_ = (low + high) / 2;
      double sum = 0;
      for (double logit : logits) sum += 1 / (1 + std::exp(-logit - bias_));
      (sum / kCalibrationRows > click_rate ? high : low) = bias_;
    }
  }

  const uint64_t seed_;
  double bias_ = 0;
  std::vector<uint32_t> begins_;  // of each field's ids
  std::vector<Zipf> zipfs_;
  std::array<Effect, kNumerics> numeric_effects_;
};

ClickLog::ClickLog(const GenerateOptions& options, ThreadPool* pool)
    : options_(options), pool_(pool), world_(std::make_unique<World>(options.seed, options.click_rate, pool)) {}

ClickLog::~ClickLog() = default;

absl::Status ClickLog::Write(const std::function<absl::Status(absl::string_view)>& write, GenerateSummary* summary) const {
  *summary = GenerateSummary();
  struct Piece {
    std::string lines;
    std::vector<float> logits, labels;
  };
  std::vector<Piece> pieces(4 * pool_->threads());
  ScoreCounter counter;
  for (uint64_t done = 0; done < options_.rows;) {
    const uint64_t rows = std::min<uint64_t>(options_.rows - done, pieces.size() * kLinesPerPiece);
    const int64_t used = static_cast<int64_t>((rows + kLinesPerPiece - 1) / kLinesPerPiece);
    pool_->ParallelFor(used, [&](int64_t p) {
      Piece& piece = pieces[p];
      piece.lines.clear();
      piece.logits.clear();
      piece.labels.clear();
      for (uint64_t i = p * kLinesPerPiece; i < std::min<uint64_t>(rows, (p + 1) * kLinesPerPiece); ++i) {
        const Row row = world_->Make(options_.skip + done + i);
        const double logit = row.logit + world_->bias();
        const bool click = row.chance < 1 / (1 + std::exp(-logit));
        AppendLine(row, click, &piece.lines);
        piece.logits.push_back(static_cast<float>(logit));
        piece.labels.push_back(click);
      }
    });
    for (int64_t p = 0; p < used; ++p) {
      TESSERA_RETURN_IF_ERROR(write(pieces[p].lines));
      counter.Add(0, pieces[p].logits, pieces[p].labels);
      summary->clicks += std::count(pieces[p].labels.begin(), pieces[p].labels.end(), 1.0f);
    }
    done += rows;
  }
  summary->rows = options_.rows;
  summary->best = counter.Finish();
  return absl::OkStatus();
}

}  // namespace tessera
