#include "common/epoch_order.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "common/random.h"

namespace tessera {
namespace {

// First part of a key, so that no two uses of the job's seed share random numbers.
constexpr uint64_t kBlockOrderKey = 0x626c6f636b730001ull;

// Blocks that move together when the epoch is shuffled.
struct Run {
  uint64_t first;
  uint64_t count;
};

std::vector<Run> MovableRuns(const Plan& plan, uint64_t block_count) {
  const uint64_t block_bytes = plan.job().data().block_bytes().bytes();
  const std::vector<bool> streamed = StreamedFiles(plan);
  std::vector<Run> runs;
  uint64_t next = 0;
  for (int i = 0; i < plan.train_size(); ++i) {
    assert(block_bytes > 0);
    const uint64_t end = next + (plan.train(i).plain_bytes() + block_bytes - 1) / block_bytes;
    if (streamed[i]) {
      runs.push_back({next, end - next});
      next = end;
    }
    for (; next < end; ++next) runs.push_back({next, 1});
  }
  // A plan without files: an input that is not read from any.
  for (; next < block_count; ++next) runs.push_back({next, 1});
  return runs;
}

}  // namespace

bool TakeKept(const InputFile& file, uint64_t* kept_bytes_left) {
  if (file.codec() == plain || file.plain_bytes() > std::min(kKeptFileBytesMax, *kept_bytes_left)) return false;
  *kept_bytes_left -= file.plain_bytes();
  return true;
}

std::vector<bool> StreamedFiles(const Plan& plan) {
  uint64_t kept_bytes_left = kKeptBytesMax;
  std::vector<bool> streamed;
  for (const InputFile& file : plan.train()) {
    const bool kept = TakeKept(file, &kept_bytes_left);
    streamed.push_back(file.codec() != plain && !kept);
  }
  return streamed;
}

std::vector<uint64_t> EpochBlocks(const Plan& plan, uint64_t block_count, uint32_t epoch) {
  std::vector<Run> runs = MovableRuns(plan, block_count);
  RandomSequence random(MixKey(kBlockOrderKey, plan.job().seed(), epoch));
  for (size_t i = runs.size(); i > 1; --i) std::swap(runs[i - 1], runs[random.Below(i)]);
  std::vector<uint64_t> blocks;
  blocks.reserve(block_count);
  for (const Run& run : runs) {
    for (uint64_t i = 0; i < run.count; ++i) blocks.push_back(run.first + i);
  }
  assert(blocks.size() == block_count);
  return blocks;
}

}  // namespace tessera
