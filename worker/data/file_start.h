// What stands at the beginning of a file before its rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/data/byte_source.h"
#include "worker/data/csv_split.h"

namespace tessera {

struct FileStart {
  uint64_t data_begin = 0;          // behind a UTF-8 byte order mark and a header: the first row's first byte
  std::vector<std::string> header;  // names in the header
  std::string header_place;         // "path:line", where there is a header
};

// Reads a file's beginning. `splitter`: of a csv with a header, else nullptr. A file without any line has an empty header.
absl::StatusOr<FileStart> ReadFileStart(const InputFile& file, const CsvSplitter* splitter);

}  // namespace tessera
