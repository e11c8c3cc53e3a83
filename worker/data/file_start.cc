#include "worker/data/file_start.h"

#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/line_reader.h"

namespace tessera {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

absl::Status Prefixed(const std::string& place, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(place, ": ", status.message()));
}

}  // namespace

absl::StatusOr<FileStart> ReadFileStart(const InputFile& file, const CsvSplitter* splitter) {
  // A source of its own that keeps nothing: of a compressed file only the beginning is decompressed.
  uint64_t kept_bytes = 0;
  const std::unique_ptr<ByteSource> source = OpenByteSource(file, &kept_bytes);
  FileStart start;
  char mark[kByteOrderMark.size()];
  TESSERA_ASSIGN_OR_RETURN(const size_t count, source->ReadAt(0, mark, sizeof mark));
  if (std::string_view(mark, count) == kByteOrderMark) start.data_begin = count;
  if (splitter == nullptr) return start;
  LineReader lines(source.get(), start.data_begin, start.data_begin, file.plain_bytes());
  std::string_view line;
  uint64_t offset;
  if (!lines.Next(&line, &offset)) {
    start.data_begin = file.plain_bytes();
    if (!lines.status().ok()) return lines.status();
    return start;
  }
  start.header_place = LineAt(source.get(), offset);
  absl::StatusOr<std::vector<std::string>> names = ParseHeader(*splitter, line);
  if (!names.ok()) return Prefixed(start.header_place, names.status());
  start.header = *std::move(names);
  start.data_begin = lines.position();
  return start;
}

}  // namespace tessera
