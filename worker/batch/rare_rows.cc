#include "worker/batch/rare_rows.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "common/feature_id.h"
#include "worker/data/schema_fields.h"

namespace tessera {
namespace {

// Lets each occurrence of a sighted id point to the rare row of its field.
void TurnOver(Batch* batch) {
  const Rows& rows = batch->rows;
  const size_t fields = rows.fields, slots = rows.size() * fields;
  size_t field = 0;
  for (size_t slot = 0; slot < slots; ++slot) {
    const size_t begin = rows.offsets.empty() ? slot : rows.offsets[slot], end = rows.offsets.empty() ? slot + 1 : rows.offsets[slot + 1];
    for (size_t o = begin; o < end; ++o) {
      if (batch->sighted[batch->inverse[o]] > 0) batch->inverse[o] = batch->rare[field];
    }
    if (++field == fields) field = 0;
  }
}

// Lays the lists of occurrences out anew.
void ListOccurrences(Batch* batch) {
  std::vector<uint32_t>& begin = batch->occurrence_begin;
  std::fill(begin.begin(), begin.end(), 0);
  for (const uint32_t unique : batch->inverse) ++begin[unique + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  thread_local std::vector<uint32_t> next;
  next.assign(begin.begin(), begin.end() - 1);
  for (size_t o = 0; o < batch->inverse.size(); ++o) batch->occurrences[next[batch->inverse[o]]++] = static_cast<uint32_t>(o);
}

}  // namespace

std::vector<uint64_t> RareIds(const Plan& plan) {
  std::vector<uint64_t> ids;
  if (plan.job().admission().sightings() <= 1) return ids;
  for (const std::string& embedding : FieldEmbeddings(plan.schema())) ids.push_back(TokenHasher(embedding).RareId());
  return ids;
}

void UseRareRows(absl::Span<const uint32_t> absent, Batch* batch) {
  assert(batch->rare.size() == batch->rows.fields);
  const std::vector<uint32_t>& begin = batch->occurrence_begin;
  std::vector<uint32_t> sighted(batch->unique_ids.size(), 0);
  for (const uint32_t i : absent) sighted[i] = begin[i + 1] - begin[i];
  for (const uint32_t i : batch->rare) sighted[i] = 0;
  if (std::none_of(absent.begin(), absent.end(), [&](uint32_t i) { return sighted[i] > 0; })) return;
  batch->sighted = std::move(sighted);
  TurnOver(batch);
  ListOccurrences(batch);
}

}  // namespace tessera
