// A click log made up for measuring: Criteo's layout, skewed ids, and labels drawn from a known model, so that the best possible AUC is
// known too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "common/thread_pool.h"
#include "proto/coordinator.pb.h"

namespace tessera {

struct GenerateOptions {
  uint64_t seed = 1;
  uint64_t skip = 0;  // rows of the endless log before the first one written: a test part follows its training part
  uint64_t rows = 0;
  double click_rate = 0.25;  // aimed at
};

struct GenerateSummary {
  uint64_t rows = 0;
  uint64_t clicks = 0;
  Score best;  // of the planted model on the rows written: no model can be expected to do better
};

// The planted world of one seed: 26 categorical fields with 2,000,000 ids in all, drawn by Zipf's law with exponent 1.05, 13 integers,
// some of both missing; the click probability of a row is a logistic factorisation machine of its values. Row i is a pure function of
// (seed, click rate, i): the same bytes from any number of threads, wherever the log is begun. Thread-compatible after construction.
class ClickLog {
 public:
  // Finds the bias that gives the click rate.
  ClickLog(const GenerateOptions& options, ThreadPool* pool);
  ~ClickLog();

  // Hands the lines (label first, tab between, LF) to `write` in order, many at a time. Stops at the first error of `write`.
  absl::Status Write(const std::function<absl::Status(absl::string_view)>& write, GenerateSummary* summary) const;

 private:
  class World;
  const GenerateOptions options_;
  ThreadPool* const pool_;
  std::unique_ptr<World> world_;
};

}  // namespace tessera
