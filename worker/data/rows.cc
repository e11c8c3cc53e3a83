#include "worker/data/rows.h"

#include <cassert>

namespace tessera {
namespace {

template <class T>
void Extend(std::vector<T>* to, const std::vector<T>& from, size_t begin, size_t end) {
  to->insert(to->end(), from.begin() + begin, from.begin() + end);
}

// Appends rows [begin, end) of `other`.
void AppendRange(const Rows& other, size_t begin, size_t end, Rows* rows) {
  if (begin == end) return;
  if (rows->size() == 0) {
    rows->fields = other.fields;
    rows->dense_width = other.dense_width;
    rows->offsets.assign(other.offsets.empty() ? 0 : 1, 0);
  }
  assert(rows->fields == other.fields && rows->dense_width == other.dense_width && rows->offsets.empty() == other.offsets.empty());
  const size_t fields = other.fields;
  size_t first = begin * fields;
  size_t last = end * fields;
  if (!other.offsets.empty()) {
    const uint32_t shift = static_cast<uint32_t>(rows->ids.size()) - other.offsets[first];
    for (size_t i = first + 1; i <= last; ++i) rows->offsets.push_back(other.offsets[i] + shift);
    first = other.offsets[begin * fields];
    last = other.offsets[end * fields];
  }
  if (!other.scales.empty()) {
    rows->scales.resize(rows->ids.size(), 1.0f);  // so far every scale was 1
    Extend(&rows->scales, other.scales, first, last);
  } else if (!rows->scales.empty()) {
    rows->scales.resize(rows->ids.size() + (last - first), 1.0f);
  }
  Extend(&rows->ids, other.ids, first, last);
  Extend(&rows->labels, other.labels, begin, end);
  Extend(&rows->keys, other.keys, begin, end);
  Extend(&rows->dense, other.dense, begin * other.dense_width, end * other.dense_width);
  const size_t kept = other.kept.size() / other.size();
  Extend(&rows->kept, other.kept, begin * kept, end * kept);
}

}  // namespace

void Rows::Clear() {
  labels.clear();
  ids.clear();
  scales.clear();
  offsets.clear();
  dense.clear();
  keys.clear();
  kept.clear();
}

void Rows::AppendRow(const Rows& other, size_t i) {
  assert(i < other.size());
  AppendRange(other, i, i + 1, this);
}

void Rows::Append(const Rows& other) { AppendRange(other, 0, other.size(), this); }

}  // namespace tessera
