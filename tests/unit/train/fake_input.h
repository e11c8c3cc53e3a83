// An input whose rows are numbers: block b holds rows b * 10 ... b * 10 + b - 1, so block 0 is empty.
#pragma once

#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "worker/data/input.h"

namespace tessera {

class FakeInput : public Input {
 public:
  explicit FakeInput(uint64_t blocks, uint64_t bad_block = ~uint64_t{0}) : blocks_(blocks), bad_block_(bad_block) {}

  uint64_t block_count() const override { return blocks_; }
  absl::Status ReadBlock(uint64_t block, Rows* rows) override {
    ++reads;
    if (block == bad_block_) return absl::InvalidArgumentError(absl::StrCat("block ", block, " is bad"));
    rows->fields = 1;
    for (uint64_t i = 0; i < block; ++i) {
      rows->labels.push_back(0);
      rows->ids.push_back(i % 3);
      rows->keys.push_back(block * 10 + i);
    }
    return absl::OkStatus();
  }
  std::string Where(uint64_t key) override { return absl::StrCat("file:", key); }

  std::atomic<int> reads = 0;

 private:
  const uint64_t blocks_;
  const uint64_t bad_block_;
};

}  // namespace tessera
