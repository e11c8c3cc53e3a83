// Runs of ours and of a raw program, alternated in one process: a machine drifts by a third within minutes, so only their ratio counts.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"

namespace tessera {

// A benchmark has nobody to hand an error to.
inline void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}
template <class T>
T Check(absl::StatusOr<T> value) {
  Check(value.status());
  return *std::move(value);
}

inline double SecondsOf(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Wall time, and the processor time of all threads of the process: the second hardly knows who else is on the machine.
struct Cost {
  double wall_s = 0;
  double cpu_s = 0;
};
template <class Body>
Cost Measure(const Body& body) {
  const double wall = SecondsOf(CLOCK_MONOTONIC);
  const double cpu = SecondsOf(CLOCK_PROCESS_CPUTIME_ID);
  body();
  return {SecondsOf(CLOCK_MONOTONIC) - wall, SecondsOf(CLOCK_PROCESS_CPUTIME_ID) - cpu};
}

// "median (lowest..highest)"
inline std::string Spread(std::vector<double> values, const char* format = "%.2f") {
  std::sort(values.begin(), values.end());
  const auto text = [&](double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, format, value);
    return std::string(buffer);
  };
  return text(values[values.size() / 2]) + " (" + text(values.front()) + ".." + text(values.back()) + ")";
}

// Speed of ours over that of raw, pair by pair, and the two speeds in `unit` per second, for runs of `amount` units.
inline void PrintPairs(const std::string& what, double amount, const char* unit, const std::vector<Cost>& ours, const std::vector<Cost>& raw) {
  std::vector<double> ratio, cpu_ratio, our_speed, raw_speed;
  for (size_t i = 0; i < ours.size(); ++i) {
    ratio.push_back(raw[i].wall_s / ours[i].wall_s);
    cpu_ratio.push_back(raw[i].cpu_s / ours[i].cpu_s);
    our_speed.push_back(amount / ours[i].wall_s);
    raw_speed.push_back(amount / raw[i].wall_s);
  }
  std::printf("%-62s ratio %s, by cpu %s; ours %s, raw %s %s/s\n", what.c_str(), Spread(ratio).c_str(), Spread(cpu_ratio).c_str(),
              Spread(our_speed).c_str(), Spread(raw_speed).c_str(), unit);
  std::fflush(stdout);
}

// One pair that does not count, then `pairs`; who goes first changes.
template <class Ours, class Raw>
void Compare(const std::string& what, double amount, const char* unit, int pairs, const Ours& ours, const Raw& raw) {
  std::vector<Cost> our_costs, raw_costs;
  for (int pair = -1; pair < pairs; ++pair) {
    Cost our_cost, raw_cost;
    if (pair % 2 == 0) our_cost = Measure([&] { ours(pair + 1); });
    raw_cost = Measure([&] { raw(pair + 1); });
    if (pair % 2 != 0) our_cost = Measure([&] { ours(pair + 1); });
    if (pair < 0) continue;
    our_costs.push_back(our_cost);
    raw_costs.push_back(raw_cost);
  }
  PrintPairs(what, amount, unit, our_costs, raw_costs);
}

}  // namespace tessera
