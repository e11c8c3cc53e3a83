#include "ps/table/row_layout.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace tessera {
namespace {

// Of one row: keeps sizes far from overflow and a request's rows within a message.
constexpr uint32_t kRowDimMax = 1u << 16;

// The learning rate of the message does not decide how values are updated, so it must not split a run.
std::string KeyOf(Optimizer optimizer, double rate_scale) {
  if (optimizer.has_sgd()) optimizer.mutable_sgd()->clear_learning_rate();
  if (optimizer.has_adagrad()) optimizer.mutable_adagrad()->clear_learning_rate();
  if (optimizer.has_adam()) optimizer.mutable_adam()->clear_learning_rate();
  if (optimizer.has_momentum()) optimizer.mutable_momentum()->clear_learning_rate();
  if (optimizer.has_rowwise_adagrad()) optimizer.mutable_rowwise_adagrad()->clear_learning_rate();
  if (optimizer.has_adamw()) optimizer.mutable_adamw()->clear_learning_rate();
  if (optimizer.has_ftrl()) optimizer.mutable_ftrl()->clear_learning_rate();
  return absl::StrCat(rate_scale, " ", optimizer.SerializeAsString());
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RowLayout>> RowLayout::Make(const TableSpec& table, uint64_t seed) {
  std::shared_ptr<RowLayout> layout(new RowLayout);
  layout->table_ = table.name();
  layout->key_ = InitialKey(seed, table.name());
  std::string last_key;
  for (const Segment& segment : table.segments()) {
    const std::string owner = absl::StrCat("table ", table.name(), ", segment ", segment.name());
    if (segment.dim() == 0 || segment.dim() > kRowDimMax - layout->dim_) {
      return absl::InvalidArgumentError(absl::StrCat(owner, ": dim is ", segment.dim(), "; a row has 1 to ", kRowDimMax, " floats"));
    }
    TESSERA_ASSIGN_OR_RETURN(const InitialDistribution distribution, MakeDistribution(segment.initializer(), owner));
    layout->segments_.push_back({layout->dim_, segment.dim(), distribution});
    const double rate_scale = segment.has_rate_scale() ? segment.rate_scale() : 1;
    if (!(rate_scale > 0) || !std::isfinite(rate_scale)) {
      return absl::InvalidArgumentError(absl::StrCat(owner, ": rate_scale is ", rate_scale, ", must be finite and above 0"));
    }
    const std::string key = KeyOf(segment.optimizer(), rate_scale);
    if (layout->runs_.empty() || key != last_key) {
      TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<ValueOptimizer> optimizer, MakeOptimizer(segment.optimizer(), owner));
      layout->runs_.push_back({layout->dim_, 0, 0, 0, rate_scale, std::move(optimizer)});
      last_key = key;
    }
    layout->runs_.back().dim += segment.dim();
    layout->dim_ += segment.dim();
  }
  for (OptimizerRun& run : layout->runs_) {
    run.state_offset = layout->dim_ + layout->state_floats_;
    run.state_floats = static_cast<uint32_t>(run.optimizer->StateFloats(run.dim));
    layout->state_floats_ += run.state_floats;
  }
  return layout;
}

void RowLayout::InitialValue(uint64_t id, float* values) const {
  const uint64_t key = InitialRowKey(key_, id);
  for (const SegmentStart& segment : segments_) {
    InitialValues(segment.distribution, key, segment.offset, absl::MakeSpan(values + segment.offset, segment.dim));
  }
}

void RowLayout::InitialFloats(uint64_t id, float* floats) const {
  InitialValue(id, floats);
  for (const OptimizerRun& run : runs_) run.optimizer->InitialState(absl::MakeSpan(floats + run.state_offset, run.state_floats));
}

RowLayout::Update::Update(const RowLayout& layout, const UpdateRule& rule)
    : layout_(layout), scale_(static_cast<float>(1 / rule.divisor)) {
  for (const OptimizerRun& run : layout.runs_) factors_.push_back(run.optimizer->Prepare(rule.learning_rate * run.rate_scale, rule.optimizer_step));
}

void RowLayout::Update::Apply(const float* sums, float* floats) const {
  for (size_t i = 0; i < factors_.size(); ++i) {
    const OptimizerRun& run = layout_.runs_[i];
    run.optimizer->Apply(factors_[i], scale_, absl::MakeSpan(sums + run.offset, run.dim),
                         absl::MakeSpan(floats + run.state_offset, run.state_floats), absl::MakeSpan(floats + run.offset, run.dim));
  }
}

}  // namespace tessera
