#include "ps/table/dense_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "ps/optimizer/initializer.h"

namespace tessera {
namespace {

// A chunk's floats begin on a cache line of their own.
constexpr size_t kLineFloats = 16;

size_t RoundUp(size_t floats) { return (floats + kLineFloats - 1) / kLineFloats * kLineFloats; }

}  // namespace

absl::StatusOr<std::unique_ptr<DenseStore>> DenseStore::Make(const VariableSpecs& variables, uint64_t seed, uint32_t first_partition,
                                                             uint32_t last_partition, ThreadPool* pool) {
  TESSERA_RETURN_IF_ERROR(CheckVariables(variables));
  std::unique_ptr<DenseStore> store(new DenseStore(pool));
  std::vector<InitialDistribution> distributions;
  for (const VariableSpec& variable : variables) {
    const std::string owner = absl::StrCat("variable ", variable.name());
    if (variable.optimizer().has_rowwise_adagrad()) {
      return absl::InvalidArgumentError(absl::StrCat(owner, ": rowwise_adagrad is for rows of a table; use adagrad"));
    }
    TESSERA_ASSIGN_OR_RETURN(std::unique_ptr<ValueOptimizer> optimizer, MakeOptimizer(variable.optimizer(), owner));
    TESSERA_ASSIGN_OR_RETURN(const InitialDistribution distribution, MakeDistribution(variable.initializer(), owner));
    distributions.push_back(distribution);
    store->variables_.push_back({variable.name(), std::move(optimizer)});
  }
  size_t buffer_floats = 0;
  std::vector<size_t> offsets;
  for (const DenseChunk& place : DenseChunks(variables)) {
    if (place.partition < first_partition || place.partition >= last_partition) continue;
    auto chunk = std::make_unique<Chunk>();
    chunk->place = place;
    chunk->number = static_cast<uint32_t>(place.begin / kDenseChunkFloats);
    if (store->chunks_.size() % kDenseSliceChunks == 0) store->slice_begin_.push_back(store->floats_);
    chunk->offset = store->floats_ - store->slice_begin_[store->slice_begin_.size() - 2];
    chunk->floats = place.size + store->variables_[place.variable].optimizer->StateFloats(place.size);
    offsets.push_back(buffer_floats);
    store->floats_ += place.size;
    store->slice_begin_.back() = store->floats_;
    buffer_floats += RoundUp(chunk->floats);
    store->chunks_.push_back(std::move(chunk));
  }
  store->buffer_ = HugeBuffer(buffer_floats * sizeof(float));
  for (size_t i = 0; i < store->chunks_.size(); ++i) {
    Chunk* const chunk = store->chunks_[i].get();
    const Variable& variable = store->variables_[chunk->place.variable];
    chunk->values = reinterpret_cast<float*>(store->buffer_.data()) + offsets[i];
    InitialValues(distributions[chunk->place.variable], InitialKey(seed, variable.name), chunk->place.begin,
                  absl::MakeSpan(chunk->values, chunk->place.size));
    variable.optimizer->InitialState(absl::MakeSpan(chunk->values + chunk->place.size, chunk->floats - chunk->place.size));
  }
  return store;
}

std::string DenseStore::NameOf(const Chunk& chunk) const {
  return absl::StrCat("chunk ", chunk.number, " of variable ", variables_[chunk.place.variable].name);
}

std::string DenseStore::NameAt(uint32_t slice, size_t at) const {
  size_t i = size_t{slice} * kDenseSliceChunks;
  while (at >= chunks_[i]->offset + chunks_[i]->place.size) ++i;
  const DenseChunk& place = chunks_[i]->place;
  return absl::StrCat(variables_[place.variable].name, "[", place.begin + at - chunks_[i]->offset, "]");
}

void DenseStore::ForSlice(uint32_t slice, absl::FunctionRef<void(Chunk*)> each) {
  assert(slice < slices());
  const size_t first = size_t{slice} * kDenseSliceChunks;
  const size_t last = std::min(first + kDenseSliceChunks, chunks_.size());
  pool_->ParallelFor(static_cast<int64_t>(last - first), [&](int64_t i) { each(chunks_[first + i].get()); });
}

void DenseStore::Read(uint32_t slice, float* values) {
  ForSlice(slice, [&](Chunk* chunk) {
    MutexLock lock(&chunk->mutex);
    std::memcpy(values + chunk->offset, chunk->values, chunk->place.size * sizeof(float));
  });
}

void DenseStore::Apply(uint32_t slice, absl::Span<const absl::Span<const float>> sources, const UpdateRule& rule) {
  if (sources.empty()) return;
  std::vector<StepFactors> factors;
  for (const Variable& variable : variables_) factors.push_back(variable.optimizer->Prepare(rule.learning_rate, rule.optimizer_step));
  ForSlice(slice, [&](Chunk* chunk) { ApplyChunk(chunk, sources, factors[chunk->place.variable], rule); });
}

void DenseStore::ApplyChunk(Chunk* chunk, absl::Span<const absl::Span<const float>> sources, const StepFactors& factors,
                            const UpdateRule& rule) {
  const size_t size = chunk->place.size;
  thread_local std::vector<float> sum;
  absl::Span<const float> gradient = sources[0].subspan(chunk->offset, size);
  if (sources.size() > 1) {
    sum.assign(gradient.begin(), gradient.end());
    for (absl::Span<const float> source : sources.subspan(1)) {
      const float* const next = source.data() + chunk->offset;
      for (size_t k = 0; k < size; ++k) sum[k] += next[k];
    }
    gradient = sum;
  }
  MutexLock lock(&chunk->mutex);
  if (chunk->lsn >= rule.lsn) return;  // replayed: it has this already
  variables_[chunk->place.variable].optimizer->Apply(factors, static_cast<float>(1 / rule.divisor), gradient,
                                                     absl::MakeSpan(chunk->values + size, chunk->floats - size),
                                                     absl::MakeSpan(chunk->values, size));
  chunk->lsn = rule.lsn;
  chunk->last_step = std::max(chunk->last_step, rule.step);
  chunk->dirty_lsn = std::min(chunk->dirty_lsn, rule.first_lsn > 0 ? rule.first_lsn : rule.lsn);
}

absl::Status DenseStore::Load(const SavedChunk& saved) {
  const auto it = std::find_if(chunks_.begin(), chunks_.end(), [&](const std::unique_ptr<Chunk>& chunk) {
    return chunk->place.variable == saved.variable && chunk->number == saved.number && chunk->place.partition == saved.partition;
  });
  if (it == chunks_.end()) {
    return absl::NotFoundError(absl::StrCat("chunk ", saved.number, " of variable ", saved.variable, " in partition ", saved.partition,
                                            " is no part of this job's variables"));
  }
  Chunk* const chunk = it->get();
  MutexLock lock(&chunk->mutex);
  if (chunk->loaded) return absl::AlreadyExistsError(absl::StrCat(NameOf(*chunk), " is there twice"));
  if (saved.size != chunk->place.size || saved.floats.size() != chunk->floats) {
    return absl::InvalidArgumentError(absl::StrCat(NameOf(*chunk), " has ", saved.size, " values and ", saved.floats.size(),
                                                   " floats with optimizer state, ", chunk->place.size, " and ", chunk->floats,
                                                   " are wanted"));
  }
  std::memcpy(chunk->values, saved.floats.data(), chunk->floats * sizeof(float));
  chunk->lsn = saved.lsn;
  chunk->last_step = saved.last_step;
  chunk->loaded = true;
  return absl::OkStatus();
}

absl::Status DenseStore::CheckAllLoaded() const {
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    MutexLock lock(&chunk->mutex);
    if (!chunk->loaded) return absl::DataLossError(absl::StrCat(NameOf(*chunk), " is missing"));
  }
  return absl::OkStatus();
}

uint64_t DenseStore::ContentDigest() const {
  uint64_t digest = 0;
  for (const std::unique_ptr<Chunk>& chunk : chunks_) {
    MutexLock lock(&chunk->mutex);
    digest += chunk->digest;
  }
  return digest;
}

}  // namespace tessera
