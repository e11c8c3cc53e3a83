// From a row's cells to ids, scales and dense values, as the schema says. What criteo and csv have in common.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/feature_id.h"
#include "proto/plan.pb.h"
#include "worker/data/input.h"
#include "worker/data/label_parser.h"
#include "worker/data/rows.h"

namespace tessera {

// Thread-safe: constant after construction. Cells are those of schema.columns, in their order; a cell without data (nullptr) stands for a
// column that the file lacks.
class RowEncoder {
 public:
  static absl::StatusOr<std::shared_ptr<const RowEncoder>> Create(const Plan& plan, ReadOptions options);

  size_t columns() const { return columns_; }
  // Index of the label's column; columns() if there is none.
  size_t label_column() const { return label_column_; }
  bool labels_wanted() const { return options_.labels; }
  // Whether a row cannot do without the column.
  bool IsNeeded(size_t column) const { return needed_[column]; }

  // Sets the layout of rows without rows in them.
  void Prepare(Rows* rows) const;
  // Appends the row of the cells, all but its key. False with what is wrong; `rows` may then hold a part of the row.
  bool Encode(const std::string_view* cells, Rows* rows, std::string* error) const;

 private:
  struct Categorical {
    size_t column;
    TokenHasher hasher;   // of its embedding
    uint64_t missing_id;  // of the column itself
  };
  static constexpr int kNone = -1;
  static constexpr size_t kSmallNumbers = 256;
  struct Treated {
    uint64_t bucket_id;
    float scaled;
  };
  struct Numeric {
    size_t column;
    std::string name;
    int bucket_field = kNone;
    int scaled_field = kNone;
    int dense_input = kNone;
    NumericStatistics statistics;
    std::vector<uint64_t> bucket_ids;
    uint64_t scaled_id = 0;
    uint64_t missing_id = 0;
    // Counts and ages are mostly small: for 0 .. 255 look up instead of a search and a logarithm.
    std::array<Treated, kSmallNumbers> small;

    Treated Treat(float x) const;
  };

  RowEncoder(const Plan& plan, ReadOptions options);
  void AddNumeric(size_t index, const Column& column, int* field, int* dense);
  bool IsMissing(std::string_view cell) const;
  bool EncodeLabel(std::string_view cell, Rows* rows, std::string* error) const;
  // False when the cell is not a number.
  bool EncodeNumeric(const Numeric& numeric, std::string_view cell, uint64_t* ids, float* scales, float* dense_values) const;
  std::string NotANumber(const Numeric& numeric, std::string_view cell) const;

  const ReadOptions options_;
  const LabelParser label_parser_;
  size_t columns_ = 0;
  size_t label_column_ = 0;
  uint32_t fields_ = 0;
  uint32_t dense_width_ = 0;
  bool has_scales_ = false;
  std::vector<std::string> missing_;
  size_t missing_size_max_ = 0;
  std::vector<Categorical> categoricals_;  // field k is categoricals_[k]
  std::vector<Numeric> numerics_;
  std::vector<size_t> kept_;               // columns, in the order of data.keep
  std::vector<bool> needed_;
};

}  // namespace tessera
