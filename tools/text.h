// Numbers as a person reads them, each with its unit.
#pragma once

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "proto/coordinator.pb.h"

namespace tessera {

std::string CountText(uint64_t count);          // 32,561
std::string RateText(double rows_per_second);   // 41,300 rows/s
std::string TimeText(absl::Duration duration);  // 3.2 s, 4 min 10 s, 2 h 5 min
std::string PercentText(double part);           // 37 %
// "AUC 0.91034, logloss 0.31021 on 16,281 rows"; what is undefined is said to be.
std::string ScoreText(const Score& score);

}  // namespace tessera
