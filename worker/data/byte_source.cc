#include "worker/data/byte_source.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "common/epoch_order.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "worker/data/decoder.h"
#include "worker/data/stored_file.h"

namespace tessera {
namespace {

absl::Status ChangedError(const InputFile& file, uint64_t plain_bytes) {
  return absl::FailedPreconditionError(absl::StrCat(file.path(), ": has ", plain_bytes, " plain bytes now and had ", file.plain_bytes(),
                                                    " when the job was planned; files of a job must not change while it runs"));
}

class PlainSource : public ByteSource {
 public:
  explicit PlainSource(const InputFile& file) : file_(file) {}
  const std::string& path() const override { return file_.path(); }
  uint64_t size() const override { return file_.stored_bytes(); }
  absl::StatusOr<size_t> ReadAt(uint64_t offset, char* to, size_t size) override {
    return ReadStored(file_.path(), file_.stored_bytes(), offset, to, size);
  }

 private:
  const InputFile file_;
};

// Decompressed at the first read.
class KeptSource : public ByteSource {
 public:
  explicit KeptSource(const InputFile& file) : file_(file) {}
  const std::string& path() const override { return file_.path(); }
  uint64_t size() const override { return file_.plain_bytes(); }

  absl::StatusOr<size_t> ReadAt(uint64_t offset, char* to, size_t size) override {
    TESSERA_RETURN_IF_ERROR(Fill());
    const uint64_t count = offset >= bytes_.size() ? 0 : std::min<uint64_t>(size, bytes_.size() - offset);
    if (count > 0) std::memcpy(to, bytes_.data() + offset, count);
    return count;
  }

 private:
  absl::Status Fill() {
    MutexLock lock(&mutex_);
    if (filled_) return absl::OkStatus();
    std::vector<char> bytes(file_.plain_bytes() + 1);  // one more, so that a longer file is noticed
    const std::unique_ptr<Decoder> decoder = NewDecoder(file_);
    TESSERA_ASSIGN_OR_RETURN(const size_t count, decoder->Read(bytes.data(), bytes.size()));
    if (count != file_.plain_bytes()) return ChangedError(file_, count);
    bytes.resize(count);
    bytes_ = std::move(bytes);
    filled_ = true;
    return absl::OkStatus();
  }

  const InputFile file_;
  Mutex mutex_;
  bool filled_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<char> bytes_;  // written once, before filled_ is set under the mutex; constant after that
};

// Keeps a few decoders where earlier reads ended.
class StreamSource : public ByteSource {
 public:
  explicit StreamSource(const InputFile& file) : file_(file) {}
  const std::string& path() const override { return file_.path(); }
  uint64_t size() const override { return file_.plain_bytes(); }

  absl::StatusOr<size_t> ReadAt(uint64_t offset, char* to, size_t size) override {
    std::unique_ptr<Decoder> decoder = Take(offset);
    if (decoder == nullptr) decoder = NewDecoder(file_);
    TESSERA_RETURN_IF_ERROR(Skip(decoder.get(), offset));
    TESSERA_ASSIGN_OR_RETURN(const size_t count, decoder->Read(to, size));
    const uint64_t position = decoder->position();
    if (position > file_.plain_bytes() || (count < size && position != file_.plain_bytes())) return ChangedError(file_, position);
    Return(std::move(decoder));
    return count;
  }

 private:
  static constexpr size_t kDecodersMax = 4;

  static absl::Status Skip(Decoder* decoder, uint64_t offset) {
    std::vector<char> scratch(std::min<uint64_t>(offset - decoder->position(), 256 << 10));
    while (decoder->position() < offset) {
      const size_t step = std::min<uint64_t>(scratch.size(), offset - decoder->position());
      TESSERA_ASSIGN_OR_RETURN(const size_t count, decoder->Read(scratch.data(), step));
      if (count < step) break;
    }
    return absl::OkStatus();
  }

  // The remembered decoder nearest before `offset`, or none.
  std::unique_ptr<Decoder> Take(uint64_t offset) {
    MutexLock lock(&mutex_);
    size_t best = decoders_.size();
    for (size_t i = 0; i < decoders_.size(); ++i) {
      const uint64_t position = decoders_[i]->position();
      if (position <= offset && (best == decoders_.size() || position > decoders_[best]->position())) best = i;
    }
    if (best == decoders_.size()) return nullptr;
    std::unique_ptr<Decoder> decoder = std::move(decoders_[best]);
    decoders_.erase(decoders_.begin() + best);
    return decoder;
  }

  void Return(std::unique_ptr<Decoder> decoder) {
    MutexLock lock(&mutex_);
    if (decoders_.size() == kDecodersMax) decoders_.erase(decoders_.begin());  // the one unused for longest
    decoders_.push_back(std::move(decoder));
  }

  const InputFile file_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Decoder>> decoders_ ABSL_GUARDED_BY(mutex_);  // in order of last use
};

}  // namespace

std::unique_ptr<ByteSource> OpenByteSource(const InputFile& file, uint64_t* kept_bytes_left) {
  if (file.codec() == plain) return std::make_unique<PlainSource>(file);
  if (TakeKept(file, kept_bytes_left)) return std::make_unique<KeptSource>(file);
  return std::make_unique<StreamSource>(file);
}

}  // namespace tessera
