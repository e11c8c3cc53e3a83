// An input whose blocks are made up: block b has rows[b] rows, and row i of all has key i.
#pragma once

#include <atomic>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "worker/data/input.h"

namespace tessera {

// Thread-safe.
class FakeInput : public Input {
 public:
  explicit FakeInput(std::vector<uint32_t> rows) : rows_(std::move(rows)), first_(rows_.size() + 1, 0) {
    std::partial_sum(rows_.begin(), rows_.end(), first_.begin() + 1);
  }

  uint64_t block_count() const override { return rows_.size(); }

  absl::Status ReadBlock(uint64_t block, Rows* rows) override {
    if (block == bad_block_) return absl::InvalidArgumentError(absl::StrCat("block ", block, " is bad"));
    for (uint64_t key = first_[block]; key < first_[block + 1]; ++key) {
      rows->labels.push_back(static_cast<float>(key % 2));
      rows->ids.push_back(key * 1000);
      rows->keys.push_back(key);
    }
    rows->fields = 1;
    rows_read_ += rows_[block];
    return absl::OkStatus();
  }

  std::string Where(uint64_t key) override { return absl::StrCat("row ", key); }

  uint64_t row_count() const { return first_.back(); }
  uint64_t rows_read() const { return rows_read_; }
  void set_bad_block(uint64_t block) { bad_block_ = block; }

 private:
  const std::vector<uint32_t> rows_;
  std::vector<uint64_t> first_;
  uint64_t bad_block_ = ~uint64_t{0};
  std::atomic<uint64_t> rows_read_{0};
};

}  // namespace tessera
