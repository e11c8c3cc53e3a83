#include <zlib.h>

#include <algorithm>
#include <climits>

#include "common/status_macros.h"
#include "worker/data/decoder.h"
#include "worker/data/stored_file.h"

namespace tessera {
namespace {

class GzipDecoder : public Decoder {
 public:
  explicit GzipDecoder(const InputFile& file) : stored_(file.path(), file.stored_bytes()) {
    ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK;  // the largest window, gzip header and checksum required
  }
  ~GzipDecoder() override { inflateEnd(&stream_); }

  uint64_t position() const override { return position_; }

  absl::StatusOr<size_t> Read(char* to, size_t size) override {
    if (!ready_) return absl::ResourceExhaustedError("zlib cannot start: out of memory");
    size_t done = 0;
    while (done < size) {
      if (stream_.avail_in == 0) {
        TESSERA_ASSIGN_OR_RETURN(const bool more, Refill());
        if (!more) break;
      }
      if (!in_member_ && !BeginMember()) continue;
      stream_.next_out = reinterpret_cast<Bytef*>(to + done);
      stream_.avail_out = static_cast<uInt>(std::min<size_t>(size - done, UINT_MAX));
      const int result = inflate(&stream_, Z_NO_FLUSH);
      const size_t written = reinterpret_cast<char*>(stream_.next_out) - (to + done);
      done += written;
      position_ += written;
      if (result == Z_STREAM_END) {
        in_member_ = false;
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        return DamagedError(stored_.path(), "gzip", stored_.offset() - stream_.avail_in, position_, stream_.msg ? stream_.msg : "not gzip");
      }
    }
    return done;
  }

 private:
  // False at the end of the file, which must not be inside a member.
  absl::StatusOr<bool> Refill() {
    TESSERA_ASSIGN_OR_RETURN(const absl::Span<const char> bytes, stored_.Next());
    if (bytes.empty()) {
      if (in_member_) return CutError(stored_.path(), "gzip", stored_.offset(), position_);
      return false;
    }
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    return true;
  }

  // False where only padding is left of the bytes at hand.
  bool BeginMember() {
    while (members_ > 0 && stream_.avail_in > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      --stream_.avail_in;
    }
    if (stream_.avail_in == 0) return false;
    if (members_++ > 0) inflateReset(&stream_);
    in_member_ = true;
    return true;
  }

  StoredReader stored_;
  z_stream stream_ = {};
  bool ready_ = false;
  bool in_member_ = false;
  uint64_t members_ = 0;
  uint64_t position_ = 0;
};

}  // namespace

std::unique_ptr<Decoder> NewGzipDecoder(const InputFile& file) { return std::make_unique<GzipDecoder>(file); }

}  // namespace tessera
