// Fields of libsvm data, whose indices have no names: found from which indices are never set together.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "proto/plan.pb.h"
#include "worker/data/survey_reader.h"

namespace tessera {

inline constexpr size_t kLibsvmFieldsMax = 64;

// One-hot encoded columns are runs of consecutive indices of which a row sets one. So a field is a maximal run of consecutive indices of
// which no row seen sets two. Where that makes more than kLibsvmFieldsMax runs (text, say), neighbours are put together so that fields
// have about equally many occurrences. Owned by one thread.
class LibsvmFieldFinder {
 public:
  void Add(absl::Span<const SurveyEntry> entries);
  // Fills schema.fields and schema.libsvm_field_end: at least one field; the last one's end is one above the highest index seen, and it
  // takes all indices above too. An end fits 32 bits; indices beyond belong to the last field.
  void Finish(Schema* schema) const;

 private:
  struct Index {
    uint32_t below = 0;  // the highest index set together with this one and below it, plus 1; 0 for none
    uint64_t rows = 0;
  };
  struct Run {
    uint32_t begin;
    uint32_t end;
    uint64_t rows;
  };
  std::vector<Run> Runs() const;
  static std::vector<Run> Merge(const std::vector<Run>& runs);

  absl::flat_hash_map<uint32_t, Index> indices_;
  std::vector<uint32_t> row_;
};

}  // namespace tessera
