#include "common/job/storage_keys.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/job/job_values.h"
#include "common/job/units.h"

namespace tessera {
namespace {

constexpr uint64_t kServerMemoryBytes = uint64_t{4} << 30;
constexpr uint64_t kServerMemoryBytesMin = 1u << 20;
constexpr uint64_t kServerLogBytes = uint64_t{4} << 30;
constexpr uint64_t kServerLogBytesMin = uint64_t{64} << 20;
constexpr uint64_t kSightingBytes = 16u << 20;
constexpr uint64_t kSightingBytesMin = 64u << 10;
constexpr uint64_t kSightingBytesMax = 32u << 20;  // they travel in one message
constexpr uint32_t kSightingsMax = 15;             // a counter has 4 bits
constexpr uint64_t kEvictionRowsMin = 256;         // one of each partition
constexpr double kRowStddev = 0.01;

void AtLeast(JobDraft* draft, const std::string& key, bool present, uint64_t bytes, uint64_t least) {
  if (!present || bytes >= least) return;
  draft->Refuse(key, absl::StrCat(FormatByteSize(bytes), " is too little; write at least ", FormatByteSize(least)));
}

void ValidateEviction(JobDraft* draft, const Eviction& eviction) {
  if (eviction.has_unused_steps() && eviction.unused_steps() == 0) draft->Refuse("eviction.unused_steps", "must be more than 0");
  if (eviction.has_unused_periods() && eviction.unused_periods() == 0) draft->Refuse("eviction.unused_periods", "must be more than 0");
  if (eviction.has_rows() && eviction.rows() < kEvictionRowsMin) {
    draft->Refuse("eviction.rows", absl::StrCat(eviction.rows(), " is too few; write at least ", kEvictionRowsMin, ", one for each partition"));
  }
  if (eviction.has_norm() && !(static_cast<float>(eviction.norm()) > 0 && std::isfinite(static_cast<float>(eviction.norm())))) {
    draft->Refuse("eviction.norm", absl::StrCat(FormatNumber(eviction.norm()), " is out of range; write a number above 0"));
  }
  for (int i = 0; i < eviction.protect_size(); ++i) {
    if (eviction.protect(i) == "features") continue;
    draft->Refuse(absl::StrCat("eviction.protect[", i, "]"), absl::StrCat(QuoteText(eviction.protect(i)), " is no table; write features"));
  }
}

}  // namespace

void FillStorage(Job* job, NoteDefault note) {
  Storage& storage = *job->mutable_storage();
  if (!storage.has_memory_per_server()) {
    storage.mutable_memory_per_server()->set_bytes(kServerMemoryBytes);
    note("storage.memory_per_server", "usual");
  }
  if (storage.durability() == DURABILITY_UNSPECIFIED) {
    storage.set_durability(Durability::process);
    note("storage.durability", "an acknowledged push survives kill -9 of its server");
  }
  if (!storage.has_log_per_server()) {
    storage.mutable_log_per_server()->set_bytes(kServerLogBytes);
    note("storage.log_per_server", "replayed within a minute");
  }
  Admission& admission = *job->mutable_admission();
  if (admission.sightings() <= 1) {
    job->clear_admission();
    return;
  }
  if (admission.count() == SIGHTING_COUNT_UNSPECIFIED) {
    admission.set_count(SightingCount::running);
    note("admission.count", "needs no pass over the data");
  }
  if (!admission.has_memory()) {
    admission.mutable_memory()->set_bytes(kSightingBytes);
    note("admission.memory", "some ten million ids");
  }
}

void FillRowInitializer(Model* model, NoteDefault note) {
  RowInitializer& start = *model->mutable_embedding_initializer();
  if (start.kind_case() == RowInitializer::KIND_NOT_SET) start.mutable_normal();
  if (start.has_normal() && !start.normal().has_stddev()) {
    start.mutable_normal()->set_stddev(kRowStddev);
    note("model.embedding_initializer.normal.stddev", "usual");
  }
  if (start.has_uniform() && !start.uniform().has_bound()) {
    start.mutable_uniform()->set_bound(kRowStddev);
    note("model.embedding_initializer.uniform.bound", "usual");
  }
}

void ValidateStorageKeys(JobDraft* draft) {
  const Storage& storage = draft->job.storage();
  AtLeast(draft, "storage.memory_per_server", storage.has_memory_per_server(), storage.memory_per_server().bytes(), kServerMemoryBytesMin);
  AtLeast(draft, "storage.log_per_server", storage.has_log_per_server(), storage.log_per_server().bytes(), kServerLogBytesMin);
  const Admission& admission = draft->job.admission();
  if (admission.has_sightings() && (admission.sightings() < 1 || admission.sightings() > kSightingsMax)) {
    draft->Refuse("admission.sightings", absl::StrCat(admission.sightings(), " is out of range; write 1 to ", kSightingsMax));
  }
  AtLeast(draft, "admission.memory", admission.has_memory(), admission.memory().bytes(), kSightingBytesMin);
  if (admission.memory().bytes() > kSightingBytesMax) {
    draft->Refuse("admission.memory", absl::StrCat(FormatByteSize(admission.memory().bytes()), " is too much; write at most ",
                                                   FormatByteSize(kSightingBytesMax)));
  }
  ValidateEviction(draft, draft->job.eviction());
  const RowInitializer& start = draft->job.model().embedding_initializer();
  for (const auto& [key, present, value] : {std::tuple("uniform.bound", start.uniform().has_bound(), start.uniform().bound()),
                                            std::tuple("normal.stddev", start.normal().has_stddev(), start.normal().stddev())}) {
    if (!present || (value >= 0 && std::isfinite(static_cast<float>(value)))) continue;
    draft->Refuse(absl::StrCat("model.embedding_initializer.", key), absl::StrCat(FormatNumber(value), " is out of range; write 0 or more"));
  }
}

}  // namespace tessera
