#include <zstd.h>

#include "common/status_macros.h"
#include "worker/data/decoder.h"
#include "worker/data/stored_file.h"

namespace tessera {
namespace {

class ZstdDecoder : public Decoder {
 public:
  explicit ZstdDecoder(const InputFile& file) : stored_(file.path(), file.stored_bytes()), stream_(ZSTD_createDStream(), ZSTD_freeDStream) {
    // Files of `zstd --long` and `--ultra` too; the window of an ordinary one is far smaller.
    if (stream_ != nullptr) ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
  }

  uint64_t position() const override { return position_; }

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    if (stream_ == nullptr) return absl::ResourceExhaustedError("zstd cannot start: out of memory");
    ZSTD_outBuffer out = {to, size, 0};
    while (out.pos < size) {
      if (in_.pos == in_.size && !flushing_) {
        TESSERA_ASSIGN_OR_RETURN(const bool more, Refill());
        if (!more) break;
      }
      const size_t before = out.pos;
      const size_t result = ZSTD_decompressStream(stream_.get(), &out, &in_);
      position_ += out.pos - before;
      if (ZSTD_isError(result)) {
        return DamagedError(stored_.path(), "zstd", stored_.offset() - (in_.size - in_.pos), position_, ZSTD_getErrorName(result));
      }
      in_frame_ = result != 0;
      // A full output may leave plain bytes inside the stream although all stored ones are taken.
      flushing_ = in_frame_ && out.pos == size;
    }
    return out.pos;
  }

 private:
  // False at the end of the file, which must not be inside a frame.
  absl::StatusOr<bool> Refill() {
    TESSERA_ASSIGN_OR_RETURN(const absl::Span<const char> bytes, stored_.Next());
    if (bytes.empty()) {
      if (in_frame_) return CutError(stored_.path(), "zstd", stored_.offset(), position_);
      return false;
    }
    in_ = {bytes.data(), bytes.size(), 0};
    return true;
  }

  StoredReader stored_;
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream_;
  ZSTD_inBuffer in_ = {nullptr, 0, 0};
  bool in_frame_ = false;
  bool flushing_ = false;
  uint64_t position_ = 0;
};

}  // namespace

std::unique_ptr<Decoder> NewZstdDecoder(const InputFile& file) { return std::make_unique<ZstdDecoder>(file); }

}  // namespace tessera
