#include "worker/data/input.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/epoch_order.h"
#include "common/status_macros.h"
#include "worker/data/byte_source.h"
#include "worker/data/csv_split.h"
#include "worker/data/file_start.h"
#include "worker/data/line_reader.h"
#include "worker/data/row_encoder.h"
#include "worker/data/row_parser.h"

namespace tessera {
namespace {

constexpr int kFilesMax = 1 << (64 - kRowKeyOffsetBits);

// Remembers how long rows were, to take back what a failed read appended.
class RowsMark {
 public:
  explicit RowsMark(Rows* rows)
      : rows_(rows), labels_(rows->labels.size()), ids_(rows->ids.size()), scales_(rows->scales.size()), offsets_(rows->offsets.size()),
        dense_(rows->dense.size()), keys_(rows->keys.size()), kept_(rows->kept.size()) {}
  void TakeBack() {
    rows_->labels.resize(labels_);
    rows_->ids.resize(ids_);
    rows_->scales.resize(scales_);
    rows_->offsets.resize(offsets_);
    rows_->dense.resize(dense_);
    rows_->keys.resize(keys_);
    rows_->kept.resize(kept_);
  }

 private:
  Rows* const rows_;
  const size_t labels_, ids_, scales_, offsets_, dense_, keys_, kept_;
};

struct File {
  std::unique_ptr<ByteSource> source;
  std::shared_ptr<const RowParser> parser;  // of a csv without any line: nullptr
  uint64_t data_begin = 0;
  uint64_t first_block = 0;
};

class FileSetInput : public Input {
 public:
  FileSetInput(std::vector<File> files, uint64_t block_bytes, uint64_t block_count)
      : files_(std::move(files)), block_bytes_(block_bytes), block_count_(block_count) {}

  uint64_t block_count() const override { return block_count_; }

  absl::Status ReadBlock(uint64_t block, Rows* rows) override {
    assert(block < block_count_);
    const auto behind = std::upper_bound(files_.begin(), files_.end(), block, [](uint64_t b, const File& file) { return b < file.first_block; });
    const size_t index = static_cast<size_t>(behind - files_.begin()) - 1;
    const File& file = files_[index];
    const uint64_t begin = (block - file.first_block) * block_bytes_;
    LineReader lines(file.source.get(), file.data_begin, begin, std::min(begin + block_bytes_, file.source->size()));
    RowsMark mark(rows);
    const absl::Status status = ReadLines(file, index, &lines, rows);
    if (!status.ok()) mark.TakeBack();
    return status;
  }

  std::string Where(uint64_t key) override {
    assert(RowKeyFile(key) < files_.size());
    return LineAt(files_[RowKeyFile(key)].source.get(), RowKeyOffset(key));
  }

 private:
  static absl::Status ReadLines(const File& file, uint64_t index, LineReader* lines, Rows* rows) {
    if (file.parser != nullptr) file.parser->Prepare(rows);
    if (file.parser != nullptr && file.parser->EmptyLinesAreRows()) lines->KeepEmptyLines();
    RowScratch scratch;
    std::string_view line;
    uint64_t offset;
    std::vector<uint64_t> empty;  // offsets of empty lines that are rows if another line follows
    while (lines->Next(&line, &offset)) {
      if (line.empty()) {
        empty.push_back(offset);
        continue;
      }
      for (const uint64_t before : empty) TESSERA_RETURN_IF_ERROR(ReadRow(file, index, "", before, &scratch, rows));
      empty.clear();
      if (file.parser->IsComment(line)) continue;
      TESSERA_RETURN_IF_ERROR(ReadRow(file, index, line, offset, &scratch, rows));
      if (rows->size() == 1) ReserveLike(lines->range_bytes() / line.size() + 1, rows);
    }
    if (!lines->status().ok() || empty.empty()) return lines->status();
    TESSERA_ASSIGN_OR_RETURN(const bool at_end, OnlyEmptyLinesFollow(file.source.get(), lines->position()));
    if (at_end) return absl::OkStatus();
    for (const uint64_t before : empty) TESSERA_RETURN_IF_ERROR(ReadRow(file, index, "", before, &scratch, rows));
    return absl::OkStatus();
  }

  static absl::Status ReadRow(const File& file, uint64_t index, std::string_view line, uint64_t offset, RowScratch* scratch, Rows* rows) {
    std::string error;
    if (!file.parser->Parse(line, scratch, rows, &error)) {
      return absl::InvalidArgumentError(absl::StrCat(LineAt(file.source.get(), offset), ": ", error));
    }
    rows->keys.push_back(index << kRowKeyOffsetBits | offset);
    return absl::OkStatus();
  }

  // Makes room for rows like the one there is, so that a block's rows are not copied again and again as they grow.
  static void ReserveLike(uint64_t count, Rows* rows) {
    rows->labels.reserve(count);
    rows->keys.reserve(count);
    rows->ids.reserve(count * rows->ids.size());
    rows->scales.reserve(count * rows->scales.size());
    rows->dense.reserve(count * rows->dense.size());
  }

  const std::vector<File> files_;  // ascending by first_block; files without blocks share theirs with the next
  const uint64_t block_bytes_;
  const uint64_t block_count_;
};

// The first line from `begin` on that is neither empty nor a comment; empty if there is none.
absl::StatusOr<std::string> ReadFirstRow(const InputFile& file, uint64_t begin, const RowParser& parser) {
  uint64_t kept_bytes = 0;  // of a compressed file only the beginning is decompressed
  const std::unique_ptr<ByteSource> source = OpenByteSource(file, &kept_bytes);
  LineReader lines(source.get(), begin, begin, file.plain_bytes());
  std::string_view line;
  uint64_t offset;
  while (lines.Next(&line, &offset)) {
    if (!parser.IsComment(line)) return std::string(line);
  }
  if (!lines.status().ok()) return lines.status();
  return "";
}

// Makes the parsers of files: one for all, for csv one for each file's header, or one for files with labels and one for those without.
class ParserSource {
 public:
  static absl::StatusOr<ParserSource> Create(const Plan& plan, ReadOptions options) {
    ParserSource source(plan);
    const Format format = plan.schema().format();
    if (format == libsvm) {
      TESSERA_ASSIGN_OR_RETURN(source.common_, NewLibsvmParser(plan, options, RowLabels::kPresent));
      if (options.labels) return source;
      TESSERA_ASSIGN_OR_RETURN(source.unlabelled_, NewLibsvmParser(plan, options, RowLabels::kAbsent));
      return source;
    }
    if (format != criteo && format != csv) return absl::InvalidArgumentError("data.format: must be criteo, csv or libsvm");
    TESSERA_ASSIGN_OR_RETURN(source.encoder_, RowEncoder::Create(plan, options));
    if (format == criteo) {
      source.common_ = NewCriteoParser(source.encoder_, RowLabels::kPresent);
      if (!options.labels) source.unlabelled_ = NewCriteoParser(source.encoder_, RowLabels::kAbsent);
      return source;
    }
    TESSERA_ASSIGN_OR_RETURN(source.splitter_, CsvSplitter::Create(plan.job().data().csv()));
    if (source.splitter_->has_header()) return source;
    TESSERA_ASSIGN_OR_RETURN(source.common_, NewCsvParser(plan, source.encoder_, nullptr, RowLabels::kPresent));
    if (!options.labels && source.encoder_->label_column() < source.encoder_->columns()) {
      TESSERA_ASSIGN_OR_RETURN(source.unlabelled_, NewCsvParser(plan, source.encoder_, nullptr, RowLabels::kAbsent));
    }
    return source;
  }

  // The splitter of headers, where files have one.
  const CsvSplitter* header_splitter() const { return common_ == nullptr ? &*splitter_ : nullptr; }

  absl::StatusOr<std::shared_ptr<const RowParser>> ParserOf(const InputFile& file, const FileStart& start) const {
    if (unlabelled_ != nullptr) {
      TESSERA_ASSIGN_OR_RETURN(const std::string first_row, ReadFirstRow(file, start.data_begin, *common_));
      return unlabelled_->Fits(first_row) ? unlabelled_ : common_;
    }
    if (common_ != nullptr || start.header.empty()) return common_;
    absl::StatusOr<std::shared_ptr<const RowParser>> parser = NewCsvParser(plan_, encoder_, &start.header, RowLabels::kPresent);
    if (!parser.ok()) return absl::Status(parser.status().code(), absl::StrCat(start.header_place, ": ", parser.status().message()));
    return parser;
  }

 private:
  explicit ParserSource(const Plan& plan) : plan_(plan) {}

  const Plan& plan_;
  std::shared_ptr<const RowEncoder> encoder_;
  std::optional<CsvSplitter> splitter_;
  std::shared_ptr<const RowParser> common_;
  std::shared_ptr<const RowParser> unlabelled_;  // of files whose first row fits it; nullptr where rows cannot lack the label
};

}  // namespace

absl::StatusOr<std::unique_ptr<Input>> Input::Open(const Plan& plan, const google::protobuf::RepeatedPtrField<InputFile>& files,
                                                   ReadOptions options) {
  const uint64_t block_bytes = plan.job().data().block_bytes().bytes();
  if (block_bytes == 0) return absl::InvalidArgumentError("data.block_bytes: must be greater than 0");
  if (files.size() > kFilesMax) {
    return absl::InvalidArgumentError(absl::StrCat("data: ", files.size(), " files; at most ", kFilesMax, " can be read"));
  }
  TESSERA_ASSIGN_OR_RETURN(const ParserSource parsers, ParserSource::Create(plan, options));
  uint64_t kept_bytes_left = kKeptBytesMax;
  uint64_t blocks = 0;
  std::vector<File> opened;
  for (const InputFile& described : files) {
    TESSERA_ASSIGN_OR_RETURN(const FileStart start, ReadFileStart(described, parsers.header_splitter()));
    TESSERA_ASSIGN_OR_RETURN(std::shared_ptr<const RowParser> parser, parsers.ParserOf(described, start));
    opened.push_back({OpenByteSource(described, &kept_bytes_left), std::move(parser), start.data_begin, blocks});
    blocks += (described.plain_bytes() + block_bytes - 1) / block_bytes;
  }
  return std::make_unique<FileSetInput>(std::move(opened), block_bytes, blocks);
}

}  // namespace tessera
