// Zero-filled memory, on huge pages where it is large: random look-ups into ordinary pages lose half their time to the TLB.
#pragma once

#include <cstddef>
#include <utility>

namespace tessera {

// Owns its memory; movable. Pages are touched by whoever first uses them. Running out of memory ends the process, as with operator new.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  explicit HugeBuffer(size_t bytes);
  ~HugeBuffer();
  HugeBuffer(HugeBuffer&& other) noexcept { *this = std::move(other); }
  HugeBuffer& operator=(HugeBuffer&& other) noexcept {
    std::swap(mapping_, other.mapping_);
    std::swap(mapping_bytes_, other.mapping_bytes_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  // Fills a part with zeros by giving its pages back, where it has whole ones.
  void Clear(size_t begin, size_t bytes);

  char* data() const { return data_; }  // aligned to 64 bytes, from 2 MiB on to 2 MiB
  size_t bytes() const { return bytes_; }

 private:
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  char* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace tessera
