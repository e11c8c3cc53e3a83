// Rows as a plain map with plain loops: the same arithmetic and the same decisions, one id after the other.
#pragma once

#include <cmath>
#include <map>
#include <unordered_map>

#include "tests/unit/ps_table/table_fixture.h"

namespace tessera {

struct ModelRow {
  std::vector<float> floats;
  RowHeader header;
};

class ModelStore {
 public:
  ModelStore(std::shared_ptr<const RowLayout> layout, const TieredOptions& options) : layout_(std::move(layout)), options_(options) {
    for (uint32_t p = 0; p < kPartitions; ++p) sightings_.emplace_back(Sightings(options.sighting_bytes));
  }

  void Apply(const std::vector<TestGradients>& sources, const UpdateRule& rule) {
    const size_t dim = layout_->dim();
    std::map<uint64_t, std::vector<float>> sums;
    std::map<uint64_t, uint64_t> counts;  // with a gradient or without
    std::map<uint64_t, uint64_t> shows;   // with one
    for (const TestGradients& source : sources) {
      for (size_t i = 0; i < source.ids.size(); ++i) {
        const float* gradient = &source.sums[i * dim];
        auto [it, fresh] = sums.try_emplace(source.ids[i], gradient, gradient + dim);
        for (size_t k = 0; k < dim && !fresh; ++k) it->second[k] += gradient[k];
        ++counts[source.ids[i]];
        ++shows[source.ids[i]];
      }
      for (size_t i = 0; i < source.sighted_ids.size(); ++i) counts[source.sighted_ids[i]] += source.sighted_counts[i];
    }
    std::vector<uint64_t> made;
    for (const auto& [id, count] : counts) {
      if (rows.count(id) > 0) continue;
      ++accounting.inserted;
      if (options_.admit_at > 1 && sightings_[PartitionOf(id)].Count(id) + count < options_.admit_at) {
        ++accounting.refused;
        sums.erase(id);
      } else {
        made.push_back(id);
      }
    }
    Evict(counts, made, rule);
    for (uint64_t id : made) {
      rows[id].floats.resize(layout_->floats());
      layout_->InitialFloats(id, rows[id].floats.data());
      rows[id].header.lsn = rule.lsn;
      rows[id].header.last_step = rule.step;
      rows[id].header.period = rule.period;
    }
    const RowLayout::Update update(*layout_, rule);
    for (const auto& [id, sum] : sums) {
      ModelRow& row = rows.at(id);
      update.Apply(sum.data(), row.floats.data());
      row.header.lsn = rule.lsn;
      row.header.last_step = rule.step;
      row.header.period = rule.period;
      row.header.show += static_cast<float>(shows[id]);
    }
    for (const auto& [id, count] : counts) sightings_[PartitionOf(id)].Add(id, static_cast<uint32_t>(count));
    period_ = std::max(period_, rule.period);
  }

  std::vector<float> Read(const std::vector<uint64_t>& ids, UnknownRow unknown, std::vector<uint8_t>* absent) const {
    std::vector<float> values(ids.size() * layout_->dim());
    absent->assign(ids.size(), 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      float* out = &values[i * layout_->dim()];
      const auto it = rows.find(ids[i]);
      if (it != rows.end()) {
        std::copy_n(it->second.floats.begin(), layout_->dim(), out);
        continue;
      }
      if (unknown == UnknownRow::kInitial) layout_->InitialValue(ids[i], out);
      const bool admitted = options_.admit_at <= 1 || sightings_[PartitionOf(ids[i])].Count(ids[i]) >= options_.admit_at;
      (*absent)[i] = unknown == UnknownRow::kZeros || !admitted ? 1 : 0;
    }
    return values;
  }

  std::unordered_map<uint64_t, ModelRow> rows;
  RowAccounting accounting;

 private:
  void Evict(const std::map<uint64_t, uint64_t>& touched, const std::vector<uint64_t>& made, const UpdateRule& rule) {
    if (!options_.eviction.any()) return;
    std::vector<std::vector<EvictionRow>> free(kPartitions);
    std::vector<uint64_t> kept(kPartitions);
    for (uint64_t id : made) ++kept[PartitionOf(id)];
    for (const auto& [id, row] : rows) {
      if (touched.count(id) > 0) {
        ++kept[PartitionOf(id)];
        continue;
      }
      double norm = 0;
      for (uint32_t k = 0; k < layout_->dim(); ++k) norm += static_cast<double>(row.floats[k]) * static_cast<double>(row.floats[k]);
      free[PartitionOf(id)].push_back({id, row.header.last_step, row.header.period, static_cast<float>(std::sqrt(norm))});
    }
    const EvictionMoment moment = {rule.step, rule.period, rule.period > period_};
    for (uint32_t p = 0; p < kPartitions; ++p) {
      if (!IsEvictionDue(options_.eviction, moment, p, kept[p] + free[p].size())) continue;
      for (uint64_t id : SelectEvicted(options_.eviction, moment, kept[p], free[p])) {
        rows.erase(id);
        ++accounting.evicted;
      }
    }
  }

  const std::shared_ptr<const RowLayout> layout_;
  const TieredOptions options_;
  std::vector<Sightings> sightings_;
  uint32_t period_ = 0;
};

}  // namespace tessera
