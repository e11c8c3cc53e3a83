#include "worker/compute/cpu/workspace.h"

#include <cassert>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace tessera {

void* AllocateAligned(size_t bytes) { return std::aligned_alloc(64, (bytes + 63) / 64 * 64 + (bytes == 0 ? 64 : 0)); }
void FreeAligned(void* data) { std::free(data); }

void Workspace::FreeDeleter::operator()(float* data) const { FreeAligned(data); }

float* Workspace::Scratch(int slot, int64_t count) {
  assert(slot >= 0 && slot < kSlots && count >= 0);
  Slot& s = slots_[slot];
  if (s.data == nullptr || s.size < count) {
    s.data.reset();  // before the new one, not beside it
    s.size = 0;
    s.data.reset(static_cast<float*>(AllocateAligned(static_cast<size_t>(count) * sizeof(float))));
    if (s.data == nullptr) {
      Fail(absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", count, " floats of intermediate results; use a smaller training.batch_size")));
      return nullptr;
    }
    s.size = count;
  }
  return s.data.get();
}

void Workspace::Fail(absl::Status status) {
  MutexLock lock(&mutex_);
  if (status_.ok()) status_ = std::move(status);
}

absl::Status Workspace::TakeStatus() {
  MutexLock lock(&mutex_);
  return std::exchange(status_, absl::OkStatus());
}

}  // namespace tessera
