#include "ps/table/huge_buffer.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tessera {
namespace {

constexpr size_t kHugePageBytes = 2u << 20;
constexpr size_t kPageBytes = 4096;

}  // namespace

HugeBuffer::HugeBuffer(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const bool large = bytes >= kHugePageBytes;
  mapping_bytes_ = large ? bytes + kHugePageBytes : bytes;
  mapping_ = mmap(nullptr, mapping_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping_ == MAP_FAILED) {
    std::fprintf(stderr, "tessera: out of memory: cannot map %zu bytes for table rows\n", bytes);
    std::abort();
  }
  data_ = static_cast<char*>(mapping_);
  if (!large) return;
  data_ += (kHugePageBytes - reinterpret_cast<uintptr_t>(data_) % kHugePageBytes) % kHugePageBytes;
  // A hint: where it is not followed the memory is only slower.
  (void)madvise(data_, bytes, MADV_HUGEPAGE);
}

HugeBuffer::~HugeBuffer() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

void HugeBuffer::Clear(size_t begin, size_t bytes) {
  if (begin % kPageBytes == 0 && bytes % kPageBytes == 0 && madvise(data_ + begin, bytes, MADV_DONTNEED) == 0) return;
  std::memset(data_ + begin, 0, bytes);
}

}  // namespace tessera
