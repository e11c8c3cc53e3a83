#include "worker/batch/append_rows.h"

#include <algorithm>
#include <cassert>

namespace tessera {
namespace {

constexpr size_t kRowsAhead = 8;

// The occurrences of a row within its run.
struct Extent {
  size_t begin;
  size_t size;
};

Extent ExtentOf(const RowRef& ref) {
  const size_t fields = ref.rows->fields;
  if (ref.rows->offsets.empty()) return {ref.row * fields, fields};
  const size_t begin = ref.rows->offsets[ref.row * fields];
  return {begin, ref.rows->offsets[(ref.row + 1) * fields] - begin};
}

void AppendIds(absl::Span<const RowRef> refs, size_t occurrences, Rows* out) {
  size_t to = out->ids.size();
  out->ids.resize(to + occurrences);
  for (size_t i = 0; i < refs.size(); ++i) {
    if (i + kRowsAhead < refs.size()) {
      const RowRef& ahead = refs[i + kRowsAhead];
      __builtin_prefetch(ahead.rows->ids.data() + ExtentOf(ahead).begin);
    }
    const Extent from = ExtentOf(refs[i]);
    std::copy_n(refs[i].rows->ids.data() + from.begin, from.size, out->ids.data() + to);
    to += from.size;
  }
}

void AppendScales(absl::Span<const RowRef> refs, Rows* out) {
  const size_t before = out->ids.size();
  const bool any = std::any_of(refs.begin(), refs.end(), [](const RowRef& ref) { return !ref.rows->scales.empty(); });
  if (!any && out->scales.empty()) return;
  out->scales.resize(before, 1.0f);
  for (const RowRef& ref : refs) {
    const Extent from = ExtentOf(ref);
    if (ref.rows->scales.empty()) {
      out->scales.resize(out->scales.size() + from.size, 1.0f);
    } else {
      const float* scales = ref.rows->scales.data() + from.begin;
      out->scales.insert(out->scales.end(), scales, scales + from.size);
    }
  }
}

void AppendOffsets(absl::Span<const RowRef> refs, Rows* out) {
  if (out->offsets.empty()) out->offsets.push_back(0);
  uint32_t end = out->offsets.back();
  for (const RowRef& ref : refs) {
    const uint32_t* offsets = ref.rows->offsets.data() + size_t{ref.row} * out->fields;
    for (uint32_t f = 0; f < out->fields; ++f) {
      end += offsets[f + 1] - offsets[f];
      out->offsets.push_back(end);
    }
  }
}

}  // namespace

void AppendRows(absl::Span<const RowRef> refs, Rows* out) {
  if (refs.empty()) return;
  const Rows& layout = *refs[0].rows;
  assert(out->size() == 0 || (out->fields == layout.fields && out->dense_width == layout.dense_width));
  out->fields = layout.fields;
  out->dense_width = layout.dense_width;

  size_t occurrences = 0;
  for (const RowRef& ref : refs) occurrences += ExtentOf(ref).size;
  AppendScales(refs, out);
  AppendIds(refs, occurrences, out);
  if (!layout.offsets.empty()) AppendOffsets(refs, out);
  const size_t kept = layout.kept.size() / layout.size();
  for (const RowRef& ref : refs) {
    out->labels.push_back(ref.rows->labels[ref.row]);
    out->keys.push_back(ref.rows->keys[ref.row]);
    const float* dense = ref.rows->dense.data() + size_t{ref.row} * layout.dense_width;
    out->dense.insert(out->dense.end(), dense, dense + layout.dense_width);
    for (size_t k = 0; k < kept; ++k) out->kept.push_back(ref.rows->kept[ref.row * kept + k]);
  }
}

}  // namespace tessera
