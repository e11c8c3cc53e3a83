#include "worker/data/survey_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "worker/data/byte_source.h"
#include "worker/data/csv_split.h"
#include "worker/data/field_scan.h"
#include "worker/data/file_start.h"
#include "worker/data/label_parser.h"
#include "worker/data/libsvm_line.h"
#include "worker/data/line_reader.h"
#include "worker/data/row_parser.h"
#include "worker/data/separator_hint.h"

namespace tessera {
namespace {

// Goes through the lines of all files; formats say what a line is.
class FileSurvey : public SurveyReader {
 public:
  FileSurvey(const Data& data, const google::protobuf::RepeatedPtrField<InputFile>& files) : data_(data), label_parser_(data), files_(files) {}

  const std::vector<std::string>& columns() const override { return columns_; }

  absl::StatusOr<bool> Next(SurveyRow* row) override {
    for (;;) {
      std::string_view line;
      if (lines_ != nullptr && lines_->Next(&line, &offset_)) {
        if (IsComment(line)) continue;
        row->cells.clear();
        row->entries.clear();
        row->bytes = lines_->position() - offset_;
        std::string error;
        if (!Read(line, row, &error)) return absl::InvalidArgumentError(absl::StrCat(Where(), ": ", error));
        return true;
      }
      if (lines_ != nullptr) TESSERA_RETURN_IF_ERROR(lines_->status());
      if (next_file_ == files_.size()) return false;
      TESSERA_RETURN_IF_ERROR(OpenNextFile());
    }
  }

  std::string Where() const override { return LineAt(source_.get(), offset_); }

 protected:
  // Fills the row from a line. False with what is wrong with it.
  virtual bool Read(std::string_view line, SurveyRow* row, std::string* error) = 0;
  virtual bool IsComment(std::string_view) const { return false; }
  virtual const CsvSplitter* header_splitter() const { return nullptr; }
  virtual absl::Status BeginFile(const FileStart&) { return absl::OkStatus(); }

  absl::Status OpenNextFile() {
    const InputFile& file = files_[next_file_++];
    TESSERA_ASSIGN_OR_RETURN(const FileStart start, ReadFileStart(file, header_splitter()));
    TESSERA_RETURN_IF_ERROR(BeginFile(start));
    uint64_t kept_bytes = 0;  // read once, forward
    lines_.reset();
    source_ = OpenByteSource(file, &kept_bytes);
    lines_ = std::make_unique<LineReader>(source_.get(), start.data_begin, start.data_begin, file.plain_bytes());
    return absl::OkStatus();
  }

  bool ReadLabel(std::string_view text, SurveyRow* row, std::string* error) const {
    row->label = label_parser_.Parse(text);
    if (std::isnan(row->label)) *error = label_parser_.Unknown(text);
    return !std::isnan(row->label);
  }

  const Data data_;
  const LabelParser label_parser_;
  const google::protobuf::RepeatedPtrField<InputFile> files_;
  int next_file_ = 0;
  std::unique_ptr<ByteSource> source_;
  std::unique_ptr<LineReader> lines_;
  uint64_t offset_ = 0;
  std::vector<std::string> columns_;
};

class CriteoSurvey : public FileSurvey {
 public:
  CriteoSurvey(const Data& data, const google::protobuf::RepeatedPtrField<InputFile>& files) : FileSurvey(data, files) {
    columns_ = CriteoColumns();
    cells_.resize(columns_.size());
  }

 protected:
  bool Read(std::string_view line, SurveyRow* row, std::string* error) override {
    const size_t found = SplitCells(line, '\t', cells_.size(), cells_.data());
    if (found != cells_.size()) {
      *error = CriteoFieldCountError(line, found, cells_.size());
      return false;
    }
    for (const std::string_view cell : cells_) row->cells.push_back({cell, cell.empty()});
    return ReadLabel(cells_[0], row, error);
  }

 private:
  std::vector<std::string_view> cells_;
};

class LibsvmSurvey : public FileSurvey {
 public:
  using FileSurvey::FileSurvey;

 protected:
  bool IsComment(std::string_view line) const override { return LibsvmLine(line).IsComment(); }

  bool Read(std::string_view line, SurveyRow* row, std::string* error) override {
    LibsvmLine tokens(line);
    if (!ReadLabel(tokens.TakeLabel(), row, error)) return false;
    LibsvmLine::Pair pair;
    while (tokens.TakePair(&pair, error)) row->entries.push_back({pair.index, pair.value});
    return error->empty();
  }
};

class CsvSurvey : public FileSurvey {
 public:
  CsvSurvey(const Data& data, const google::protobuf::RepeatedPtrField<InputFile>& files, CsvSplitter splitter)
      : FileSurvey(data, files), splitter_(std::move(splitter)), missing_(MissingSpellings(data)) {}

  // The columns are those of the first file that has a line.
  absl::Status FindColumns() {
    while (columns_.empty() && next_file_ < files_.size()) TESSERA_RETURN_IF_ERROR(OpenNextFile());
    if (columns_.empty()) return absl::OkStatus();
    next_file_ = 0;
    lines_.reset();
    return absl::OkStatus();
  }

 protected:
  const CsvSplitter* header_splitter() const override { return splitter_.has_header() ? &splitter_ : nullptr; }

  absl::Status BeginFile(const FileStart& start) override {
    std::vector<std::string> names = start.header;
    std::string place = start.header_place;
    if (!splitter_.has_header()) {
      TESSERA_RETURN_IF_ERROR(NamesFromFirstRow(start.data_begin, &names, &place));
    }
    if (names.empty()) return absl::OkStatus();
    if (columns_.empty()) columns_ = names;
    const absl::Status status = MapColumns(names);
    if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(place, ": ", status.message()));
    return absl::OkStatus();
  }

  bool Read(std::string_view line, SurveyRow* row, std::string* error) override {
    if (!splitter_.Split(line, &cells_, &unquoted_, error)) return false;
    if (cells_.size() != file_columns_) {
      *error = FieldCountError(line, splitter_.separator(), cells_.size(), file_columns_);
      return false;
    }
    for (const size_t place : places_) {
      const std::string_view cell = cells_[place];
      row->cells.push_back({cell, std::find(missing_.begin(), missing_.end(), cell) != missing_.end()});
    }
    return ReadLabel(row->cells[label_].text, row, error);
  }

 private:
  absl::Status NamesFromFirstRow(uint64_t data_begin, std::vector<std::string>* names, std::string* place) {
    const InputFile& file = files_[next_file_ - 1];
    uint64_t kept_bytes = 0;
    const std::unique_ptr<ByteSource> source = OpenByteSource(file, &kept_bytes);
    LineReader lines(source.get(), data_begin, data_begin, file.plain_bytes());
    std::string_view line;
    uint64_t offset;
    if (!lines.Next(&line, &offset)) return lines.status();
    *place = LineAt(source.get(), offset);
    std::string error;
    if (!splitter_.Split(line, &cells_, &unquoted_, &error)) return absl::InvalidArgumentError(absl::StrCat(*place, ": ", error));
    *names = NumberedColumns(cells_.size());
    return absl::OkStatus();
  }

  absl::Status MapColumns(const std::vector<std::string>& names) {
    absl::flat_hash_map<std::string_view, size_t> place_of;
    for (size_t i = 0; i < names.size(); ++i) place_of[names[i]] = i;
    const std::string& label = data_.labels(0).column();
    if (!place_of.contains(label)) return absl::InvalidArgumentError(NoColumnError(splitter_, names, label, "the label, data.labels[0].column"));
    file_columns_ = names.size();
    places_.clear();
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto found = place_of.find(columns_[i]);
      if (found == place_of.end()) return absl::InvalidArgumentError(NoColumnError(splitter_, names, columns_[i], "it is in the first file"));
      places_.push_back(found->second);
      if (columns_[i] == label) label_ = i;
    }
    return absl::OkStatus();
  }

  const CsvSplitter splitter_;
  const std::vector<std::string> missing_;
  std::vector<size_t> places_;  // of the columns in the open file
  size_t file_columns_ = 0;
  size_t label_ = 0;
  std::vector<std::string_view> cells_;
  std::string unquoted_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SurveyReader>> SurveyReader::Open(const Data& data, const google::protobuf::RepeatedPtrField<InputFile>& files) {
  if (data.format() == criteo) return std::make_unique<CriteoSurvey>(data, files);
  if (data.format() == libsvm) return std::make_unique<LibsvmSurvey>(data, files);
  if (data.format() != csv) return absl::InvalidArgumentError("data.format: must be criteo, csv or libsvm");
  if (data.labels_size() == 0 || data.labels(0).column().empty()) {
    return absl::InvalidArgumentError("data.labels: name the label's column, for example labels: [{column: clk}]");
  }
  TESSERA_ASSIGN_OR_RETURN(CsvSplitter splitter, CsvSplitter::Create(data.csv()));
  auto survey = std::make_unique<CsvSurvey>(data, files, std::move(splitter));
  TESSERA_RETURN_IF_ERROR(survey->FindColumns());
  return survey;
}

}  // namespace tessera
