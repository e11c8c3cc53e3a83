#include "common/fault_point.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tessera {
namespace {

using Act = std::function<void(absl::string_view)>;
std::atomic<Act*> g_act{nullptr};

}  // namespace

void FaultPoint(const char* name) {
  if (g_act.load(std::memory_order_relaxed) == nullptr) return;
  if (const Act* act = g_act.load(std::memory_order_acquire); act != nullptr) (*act)(name);
}

void SetFaultPoint(Act act) {
  std::unique_ptr<Act> next = act ? std::make_unique<Act>(std::move(act)) : nullptr;
  delete g_act.exchange(next.release(), std::memory_order_acq_rel);
}

absl::Status KillAt(absl::string_view spec) {
  absl::string_view point = spec;
  const int number = absl::ConsumeSuffix(&point, ":TERM") ? SIGTERM : absl::ConsumeSuffix(&point, ":STOP") ? SIGSTOP : SIGKILL;
  const size_t colon = point.rfind(':');
  uint64_t pass = 0;
  if (colon == 0 || colon == absl::string_view::npos || !absl::SimpleAtoi(point.substr(colon + 1), &pass) || pass == 0) {
    return absl::InvalidArgumentError(absl::StrCat("'", spec, "' is no fault point: give NAME:N, with N the pass that ends the process, or NAME:N:TERM, NAME:N:STOP"));
  }
  auto left = std::make_shared<std::atomic<uint64_t>>(pass);
  SetFaultPoint([name = std::string(point.substr(0, colon)), left, number](absl::string_view passed) {
    if (passed == name && left->fetch_sub(1) == 1) (void)kill(getpid(), number);
  });
  return absl::OkStatus();
}

}  // namespace tessera
