// What the tests of the readers need: files in a folder of their own, plans made by hand, all rows of an input.
#pragma once

#include <zlib.h>
#include <zstd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "worker/data/input.h"
#include "worker/data/row_parser.h"
#include "worker/data/schema_fields.h"

namespace tessera {

class TestFolder {
 public:
  TestFolder() {
    std::string name = ::testing::TempDir() + "tessera_data_XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  // Returns the path.
  std::string Write(const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories(std::filesystem::path(Path(name)).parent_path());
    std::ofstream(Path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return Path(name);
  }

 private:
  std::string path_;
};

inline std::string Gzip(std::string_view text) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, text.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// With a checksum, as the zstd command writes it.
inline std::string Zstd(std::string_view text) {
  std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress2(context.get(), out.data(), out.size(), text.data(), text.size()));
  return out;
}

inline Column* AddColumn(Plan* plan, const std::string& name, Column::Role role) {
  Column* column = plan->mutable_schema()->add_columns();
  column->set_name(name);
  column->set_role(role);
  if (role == Column::NUMERIC) {
    column->add_treat(bucket);
    column->add_treat(scaled);
    for (const float edge : {1.0f, 5.0f, 300.0f}) column->mutable_numeric()->add_edges(edge);
    column->mutable_numeric()->set_mean(2);
    column->mutable_numeric()->set_stddev(1.5f);
  }
  return column;
}

inline Plan EmptyPlan(Format format) {
  Plan plan;
  plan.mutable_job()->mutable_data()->set_format(format);
  plan.mutable_job()->mutable_data()->mutable_block_bytes()->set_bytes(1 << 20);
  plan.mutable_schema()->set_format(format);
  return plan;
}

// Label, 13 numerics, 26 categoricals.
inline Plan CriteoPlan() {
  Plan plan = EmptyPlan(criteo);
  for (const std::string& name : CriteoColumns()) {
    AddColumn(&plan, name, name == "label" ? Column::LABEL : name[0] == 'I' ? Column::NUMERIC : Column::CATEGORICAL);
  }
  NameModelInputs(plan.mutable_schema());
  return plan;
}

// Columns by name: "label" and those of `numeric` aside all are categorical.
inline Plan CsvPlan(const std::vector<std::string>& names, const std::string& label, const std::vector<std::string>& numeric = {}) {
  Plan plan = EmptyPlan(csv);
  plan.mutable_job()->mutable_data()->add_labels()->set_column(label);
  for (const std::string& name : names) {
    const bool is_numeric = std::find(numeric.begin(), numeric.end(), name) != numeric.end();
    AddColumn(&plan, name, name == label ? Column::LABEL : is_numeric ? Column::NUMERIC : Column::CATEGORICAL);
  }
  NameModelInputs(plan.mutable_schema());
  return plan;
}

// Fields [0, ends[0]), [ends[0], ends[1]), ...
inline Plan LibsvmPlan(const std::vector<uint32_t>& ends) {
  Plan plan = EmptyPlan(libsvm);
  for (const uint32_t end : ends) {
    plan.mutable_schema()->add_libsvm_field_end(end);
    plan.mutable_schema()->add_fields("to " + std::to_string(end));
  }
  return plan;
}

inline absl::StatusOr<std::unique_ptr<Input>> OpenInput(const Plan& plan, const std::vector<std::string>& paths, ReadOptions options = {}) {
  google::protobuf::RepeatedPtrField<InputFile> files;
  for (const std::string& path : paths) {
    absl::StatusOr<InputFile> file = DescribeFile(path);
    if (!file.ok()) return file.status();
    *files.Add() = *file;
  }
  return Input::Open(plan, files, options);
}

// All blocks in order.
inline absl::StatusOr<Rows> ReadAll(const Plan& plan, const std::vector<std::string>& paths, ReadOptions options = {}) {
  absl::StatusOr<std::unique_ptr<Input>> input = OpenInput(plan, paths, options);
  if (!input.ok()) return input.status();
  Rows rows;
  for (uint64_t block = 0; block < (*input)->block_count(); ++block) {
    const absl::Status status = (*input)->ReadBlock(block, &rows);
    if (!status.ok()) return status;
  }
  return rows;
}

// The message of reading all, with the folder taken off the front of paths; "" when nothing was wrong.
inline std::string ReadError(const Plan& plan, const std::string& path, ReadOptions options = {}) {
  const absl::Status status = ReadAll(plan, {path}, options).status();
  std::string message(status.message());
  const std::string folder = std::filesystem::path(path).parent_path().string() + "/";
  for (size_t at = message.find(folder); at != std::string::npos; at = message.find(folder)) message.erase(at, folder.size());
  return message;
}

}  // namespace tessera
