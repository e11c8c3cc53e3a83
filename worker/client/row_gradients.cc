#include "worker/client/row_gradients.h"

#include <algorithm>
#include <cassert>

#include "common/packed.h"
#include "common/sightings.h"

namespace tessera {
namespace {

void AppendAll(const Batch& batch, const RequestPart& part, size_t row_dim, absl::Span<const float> rows, Gradients* out) {
  const size_t count = part.end - part.begin;
  AppendPacked(absl::MakeConstSpan(batch.unique_ids).subspan(part.begin, count), out->mutable_ids());
  const absl::Span<uint32_t> counts = PackedResize<uint32_t>(out->mutable_counts(), count);
  for (size_t i = 0; i < count; ++i) counts[i] = batch.occurrence_begin[part.begin + i + 1] - batch.occurrence_begin[part.begin + i];
  AppendPacked(rows.subspan(part.begin * row_dim, count * row_dim), out->mutable_values());
}

void AppendSighted(const Batch& batch, const RequestPart& part, Gradients* out) {
  for (size_t i = part.begin; i < part.end; ++i) {
    if (batch.sighted[i] == 0) continue;
    AppendPacked(absl::MakeConstSpan(&batch.unique_ids[i], 1), out->mutable_sighted_ids());
    AppendPacked(absl::MakeConstSpan(&batch.sighted[i], 1), out->mutable_sighted_counts());
  }
}

}  // namespace

void AppendRowGradients(const Batch& batch, const RequestPart& part, size_t row_dim, absl::Span<const float> rows, Gradients* out) {
  assert(rows.size() == batch.unique_ids.size() * row_dim);
  if (batch.rare.empty()) return AppendAll(batch, part, row_dim, rows, out);
  const std::vector<uint32_t>& begin = batch.occurrence_begin;
  size_t count = 0;
  for (size_t i = part.begin; i < part.end; ++i) count += begin[i + 1] > begin[i];
  const absl::Span<uint64_t> ids = PackedResize<uint64_t>(out->mutable_ids(), count);
  const absl::Span<uint32_t> counts = PackedResize<uint32_t>(out->mutable_counts(), count);
  const absl::Span<float> values = PackedResize<float>(out->mutable_values(), count * row_dim);
  std::vector<uint32_t> rare = batch.rare;
  std::sort(rare.begin(), rare.end());
  auto next_rare = rare.begin();
  size_t to = 0;
  for (size_t i = part.begin; i < part.end; ++i) {
    if (begin[i + 1] == begin[i]) continue;
    while (next_rare != rare.end() && *next_rare < i) ++next_rare;
    const bool is_rare = next_rare != rare.end() && *next_rare == i;
    ids[to] = batch.unique_ids[i];
    counts[to] = std::max(begin[i + 1] - begin[i], is_rare ? Sightings::kCountMax : 0);
    std::copy_n(rows.data() + i * row_dim, row_dim, values.data() + to * row_dim);
    ++to;
  }
  if (!batch.sighted.empty()) AppendSighted(batch, part, out);
}

}  // namespace tessera
