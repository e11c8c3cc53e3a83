// In which order an epoch takes the blocks of the training files: a pure function of (plan, seed, epoch), PROTOCOL.md section 2.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/plan.pb.h"

namespace tessera {

// A compressed file of at most this many plain bytes is decompressed once and kept, as long as all that an input keeps fits its budget.
inline constexpr uint64_t kKeptFileBytesMax = 256u << 20;
inline constexpr uint64_t kKeptBytesMax = 1u << 30;
// Whether the file's bytes are kept so; `*kept_bytes_left` then falls by its size.
bool TakeKept(const InputFile& file, uint64_t* kept_bytes_left);

// Which files of plan.train are decompressed as they are read, and so cannot be read backwards.
std::vector<bool> StreamedFiles(const Plan& plan);

// All blocks of the training input in the epoch's order: a permutation that depends on (seed, epoch) only. The blocks of a streamed file
// stay next to each other and in order; every other block goes anywhere. REQUIRES: block_count is that of an Input of plan.train.
std::vector<uint64_t> EpochBlocks(const Plan& plan, uint64_t block_count, uint32_t epoch);

}  // namespace tessera
