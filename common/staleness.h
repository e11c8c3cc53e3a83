// Staleness of gradients (proto/parameter_server.proto), gathered.
#pragma once

#include <cstdint>
#include <string>

#include "proto/task_progress.pb.h"

namespace tessera {

// One gradient more.
void Count(uint64_t staleness, Staleness* all);
// Those of `more`, too.
void Add(const Staleness& more, Staleness* all);
uint64_t Gradients(const Staleness& all);
// 0 without gradients.
double Mean(const Staleness& all);
// What counts[bucket] counts: "0", "1", "2-3", "4-7".
std::string BucketName(int bucket);

}  // namespace tessera
