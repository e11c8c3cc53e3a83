#include "common/staleness.h"

#include <algorithm>
#include <bit>

#include "absl/strings/str_cat.h"

namespace tessera {

void Count(uint64_t staleness, Staleness* all) {
  const int bucket = std::bit_width(staleness);
  while (all->counts_size() <= bucket) all->add_counts(0);
  all->set_counts(bucket, all->counts(bucket) + 1);
  all->set_sum(all->sum() + staleness);
  all->set_max(std::max(all->max(), staleness));
}

void Add(const Staleness& more, Staleness* all) {
  while (all->counts_size() < more.counts_size()) all->add_counts(0);
  for (int i = 0; i < more.counts_size(); ++i) all->set_counts(i, all->counts(i) + more.counts(i));
  all->set_sum(all->sum() + more.sum());
  all->set_max(std::max(all->max(), more.max()));
}

uint64_t Gradients(const Staleness& all) {
  uint64_t gradients = 0;
  for (const uint64_t count : all.counts()) gradients += count;
  return gradients;
}

double Mean(const Staleness& all) {
  return static_cast<double>(all.sum()) / static_cast<double>(std::max<uint64_t>(1, Gradients(all)));
}

std::string BucketName(int bucket) {
  if (bucket < 2) return absl::StrCat(bucket);
  const uint64_t first = uint64_t{1} << (bucket - 1);
  return absl::StrCat(first, "-", 2 * (first - 1) + 1);
}

}  // namespace tessera
