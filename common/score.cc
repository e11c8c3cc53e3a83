#include "common/score.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace tessera {

namespace {

// Of one answer; sums of many stay exact.
constexpr uint64_t kAnswerRowsMax = uint64_t{1} << 48;

// What comes from another process: the cells and the blocks must count the same rows, or a score of them means nothing.
absl::Status CheckCounts(const ScoreCounts& counts) {
  if (counts.positives_size() != counts.cells_size() || counts.negatives_size() != counts.cells_size()) {
    return absl::InvalidArgumentError("score counts: cells, positives and negatives differ in length");
  }
  unsigned __int128 rows = 0, positives = 0, cell_rows = 0, cell_positives = 0;
  for (const BlockScore& block : counts.blocks()) {
    const std::string name = absl::StrCat("score counts: block ", block.block());
    if (!std::isfinite(block.logloss()) || !std::isfinite(block.prediction())) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": a sum is not a finite number"));
    }
    if (block.positives() > block.rows()) {
      return absl::InvalidArgumentError(absl::StrCat(name, ": ", block.positives(), " positives of ", block.rows(), " rows"));
    }
    rows += block.rows();
    positives += block.positives();
  }
  for (int i = 0; i < counts.cells_size(); ++i) {
    cell_positives += counts.positives(i);
    cell_rows += static_cast<unsigned __int128>(counts.positives(i)) + counts.negatives(i);
  }
  if (rows > kAnswerRowsMax) return absl::InvalidArgumentError(absl::StrCat("score counts: more than ", kAnswerRowsMax, " rows"));
  if (rows != cell_rows || positives != cell_positives) {
    return absl::InvalidArgumentError("score counts: the cells and the blocks count different rows");
  }
  return absl::OkStatus();
}

}  // namespace

uint32_t ScoreCell(float logit) {
  assert(std::isfinite(logit));
  const double clamped = std::clamp<double>(logit, -kScoreLogitMax, kScoreLogitMax);
  return static_cast<uint32_t>((clamped + kScoreLogitMax) / kScoreCellWidth);
}

double LogLoss(float logit, float label) {
  const double z = logit;
  return std::max(z, 0.0) - z * label + std::log1p(std::exp(-std::abs(z)));
}

float Sigmoid(float logit) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(logit)))); }

void ScoreCounter::Add(uint64_t block, absl::Span<const float> logits, absl::Span<const float> labels) {
  assert(logits.size() == labels.size());
  Sums& sums = blocks_[block];
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool positive = labels[i] > 0.5f;
    Cell& cell = cells_[ScoreCell(logits[i])];
    ++(positive ? cell.positives : cell.negatives);
    ++sums.rows;
    sums.positives += positive;
    sums.logloss += LogLoss(logits[i], labels[i]);
    sums.prediction += Sigmoid(logits[i]);
  }
}

absl::Status ScoreCounter::Merge(const ScoreCounts& counts) {
  if (absl::Status status = CheckCounts(counts); !status.ok()) return status;
  absl::flat_hash_set<uint64_t> given;
  for (const BlockScore& block : counts.blocks()) {
    if (blocks_.contains(block.block()) || !given.insert(block.block()).second) {
      return absl::InvalidArgumentError(absl::StrCat("score counts: block ", block.block(), " was scored twice"));
    }
  }
  for (int i = 0; i < counts.cells_size(); ++i) {
    Cell& cell = cells_[counts.cells(i)];
    cell.positives += counts.positives(i);
    cell.negatives += counts.negatives(i);
  }
  for (const BlockScore& block : counts.blocks()) {
    blocks_[block.block()] = {block.rows(), block.positives(), block.logloss(), block.prediction()};
  }
  return absl::OkStatus();
}

void ScoreCounter::Encode(ScoreCounts* counts) const {
  counts->Clear();
  std::vector<uint32_t> order;
  for (const auto& [cell, unused] : cells_) order.push_back(cell);
  std::sort(order.begin(), order.end());
  for (uint32_t cell : order) {
    counts->add_cells(cell);
    counts->add_positives(cells_.at(cell).positives);
    counts->add_negatives(cells_.at(cell).negatives);
  }
  for (const auto& [block, sums] : blocks_) {
    BlockScore* out = counts->add_blocks();
    out->set_block(block);
    out->set_rows(sums.rows);
    out->set_positives(sums.positives);
    out->set_logloss(sums.logloss);
    out->set_prediction(sums.prediction);
  }
}

Score ScoreCounter::Finish() const {
  Score score;
  std::vector<uint64_t> blocks;
  for (const auto& [block, unused] : blocks_) blocks.push_back(block);
  std::sort(blocks.begin(), blocks.end());
  Sums total;
  for (uint64_t block : blocks) {
    const Sums& sums = blocks_.at(block);
    total.rows += sums.rows;
    total.positives += sums.positives;
    total.logloss += sums.logloss;
    total.prediction += sums.prediction;
  }
  score.set_rows(total.rows);
  if (total.rows == 0) return score;
  const double rows = static_cast<double>(total.rows), positives = static_cast<double>(total.positives);
  score.set_logloss(total.logloss / rows);
  if (total.positives > 0) score.set_calibration(total.prediction / positives);
  if (total.positives == 0 || total.positives == total.rows) return score;
  const double rate = positives / rows;
  score.set_normalized_entropy(total.logloss / rows / -(rate * std::log(rate) + (1 - rate) * std::log(1 - rate)));

  std::vector<uint32_t> order;
  for (const auto& [cell, unused] : cells_) order.push_back(cell);
  std::sort(order.begin(), order.end());
  // Twice the number of (positive, negative) pairs in order, ties counted once: an integer, exact up to 2^127 pairs.
  unsigned __int128 twice = 0;
  uint64_t below = 0;
  for (uint32_t cell : order) {
    const Cell& c = cells_.at(cell);
    twice += static_cast<unsigned __int128>(c.positives) * (2 * below + c.negatives);
    below += c.negatives;
  }
  // Divided by twice all pairs, so that one half and one come out exactly.
  score.set_auc(static_cast<double>(twice) / static_cast<double>(2 * static_cast<unsigned __int128>(total.positives) * below));
  return score;
}

}  // namespace tessera
