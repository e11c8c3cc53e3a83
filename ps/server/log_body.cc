#include "ps/server/log_body.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/packed.h"

namespace tessera {
namespace {

constexpr size_t kAlignment = 8;
constexpr char kZeros[kAlignment] = {};
constexpr int kArrays = 6;

size_t Padding(size_t bytes) { return (kAlignment - bytes % kAlignment) % kAlignment; }

std::array<absl::string_view, kArrays> ArraysOf(const Gradients& gradients) {
  return {gradients.ids(), gradients.counts(), gradients.values(), gradients.dense(), gradients.sighted_ids(), gradients.sighted_counts()};
}

template <class T>
absl::Span<const T> TakeArray(absl::Span<const char> bytes, size_t* at, uint64_t array_bytes) {
  const absl::Span<const T> array(reinterpret_cast<const T*>(bytes.data() + *at), array_bytes / sizeof(T));
  *at += array_bytes + Padding(array_bytes);
  return array;
}

}  // namespace

LogBody::LogBody(LoggedHeader header, const Gradients* gradients) {
  std::array<absl::string_view, kArrays> arrays;
  if (gradients != nullptr) arrays = ArraysOf(*gradients);
  for (absl::string_view array : arrays) header.add_array_bytes(array.size());
  const uint32_t header_bytes = static_cast<uint32_t>(header.ByteSizeLong());
  header_.append(reinterpret_cast<const char*>(&header_bytes), sizeof header_bytes);
  header.AppendToString(&header_);
  header_.append(Padding(header_.size()), '\0');
  pieces_.push_back(header_);
  for (absl::string_view array : arrays) {
    if (array.empty()) continue;
    pieces_.push_back(array);
    if (const size_t padding = Padding(array.size()); padding > 0) pieces_.emplace_back(kZeros, padding);
  }
}

uint64_t LoggedBytes(const Gradients& gradients) {
  uint64_t bytes = 512;
  for (absl::string_view array : ArraysOf(gradients)) bytes += array.size();
  return bytes;
}

void SetFacts(const RowFacts& facts, LoggedHeader* header) {
  LoggedFacts* const logged = header->mutable_facts();
  logged->set_inserted(facts.inserted);
  logged->set_refused(facts.refused);
  logged->mutable_refused_ids()->Add(facts.refused_ids.begin(), facts.refused_ids.end());
  logged->mutable_admitted_ids()->Add(facts.admitted_ids.begin(), facts.admitted_ids.end());
  logged->mutable_evicted_ids()->Add(facts.evicted_ids.begin(), facts.evicted_ids.end());
}

RowFacts FactsOf(const LoggedHeader& header) {
  const LoggedFacts& logged = header.facts();
  RowFacts facts;
  facts.inserted = logged.inserted();
  facts.refused = logged.refused();
  facts.refused_ids.assign(logged.refused_ids().begin(), logged.refused_ids().end());
  facts.admitted_ids.assign(logged.admitted_ids().begin(), logged.admitted_ids().end());
  facts.evicted_ids.assign(logged.evicted_ids().begin(), logged.evicted_ids().end());
  return facts;
}

absl::StatusOr<ReadBody> ReadLogBody(absl::Span<const char> bytes) {
  ReadBody body;
  uint32_t header_bytes = 0;
  size_t at = sizeof header_bytes;
  if (bytes.size() >= at) std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (bytes.size() < at + header_bytes || !body.header.ParseFromArray(bytes.data() + at, static_cast<int>(header_bytes)) ||
      body.header.array_bytes_size() != kArrays) {
    return absl::DataLossError("its header cannot be read");
  }
  at += header_bytes;
  at += Padding(at);
  size_t end = at;
  for (uint64_t array : body.header.array_bytes()) end += array + Padding(array);
  if (end > bytes.size()) return absl::DataLossError(absl::StrCat("has ", bytes.size(), " bytes, its header asks for ", end));
  CheckedGradients& gradients = body.gradients;
  gradients.dense_slice = body.header.dense_slice();
  gradients.ids = TakeArray<uint64_t>(bytes, &at, body.header.array_bytes(0));
  gradients.counts = TakeArray<uint32_t>(bytes, &at, body.header.array_bytes(1));
  gradients.values = TakeArray<float>(bytes, &at, body.header.array_bytes(2));
  gradients.dense = TakeArray<float>(bytes, &at, body.header.array_bytes(3));
  gradients.sighted_ids = TakeArray<uint64_t>(bytes, &at, body.header.array_bytes(4));
  gradients.sighted_counts = TakeArray<uint32_t>(bytes, &at, body.header.array_bytes(5));
  gradients.Group();
  return body;
}

void CopyGradients(const ReadBody& body, Gradients* gradients) {
  const CheckedGradients& from = body.gradients;
  AppendPacked(from.ids, gradients->mutable_ids());
  AppendPacked(from.counts, gradients->mutable_counts());
  AppendPacked(from.values, gradients->mutable_values());
  AppendPacked(from.dense, gradients->mutable_dense());
  AppendPacked(from.sighted_ids, gradients->mutable_sighted_ids());
  AppendPacked(from.sighted_counts, gradients->mutable_sighted_counts());
  gradients->set_dense_slice(from.dense_slice);
  gradients->set_rows(body.header.rows());
}

}  // namespace tessera
