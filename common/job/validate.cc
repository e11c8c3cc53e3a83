#include "common/job/validate.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/job/job_values.h"
#include "common/job/storage_keys.h"
#include "common/job/units.h"

namespace tessera {
namespace {

constexpr size_t kNameBytesMax = 100;
constexpr uint32_t kEmbeddingDimMax = 4096;
constexpr uint32_t kHiddenMax = 65536;
constexpr int kLayersMax = 64;
constexpr uint32_t kBatchRowsMax = 1u << 24;
constexpr uint32_t kEpochsMax = 1000000;
constexpr uint32_t kPeersMax = 1024;
constexpr uint32_t kStalenessMax = 1000000;
constexpr uint64_t kBlockBytesMax = uint64_t{1} << 30;

void ValidateName(JobDraft* draft) {
  const std::string& name = draft->job.name();
  const bool plain =
      std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-'; });
  if (name.empty() || name.size() > kNameBytesMax || !plain || name[0] == '.' || name[0] == '-') {
    draft->Refuse("name", absl::StrCat(QuoteText(name), " cannot name a folder; set name to at most ", kNameBytesMax,
                                       " letters, digits, \".\", \"_\" or \"-\", a letter or digit first"));
  }
}

// A whole number within [low, high].
template <class T>
void Within(JobDraft* draft, const std::string& key, bool present, T value, T low, T high) {
  if (present && (value < low || value > high)) draft->Refuse(key, absl::StrCat(value, " is out of range; write ", low, " to ", high));
}

void Fraction(JobDraft* draft, const std::string& key, bool present, double value) {
  if (present && !(value >= 0 && value < 1))
    draft->Refuse(key, absl::StrCat(FormatNumber(value), " is out of range; write a number from 0 to below 1"));
}

// Servers compute with floats: a number must be one without becoming infinite, and stay above 0 where it must be.
void FitsFloat(JobDraft* draft, const std::string& key, bool present, double value) {
  if (present && !std::isfinite(static_cast<float>(value)))
    draft->Refuse(key, absl::StrCat(FormatNumber(value), " is too large; write a number below 3.4e38"));
}

void Positive(JobDraft* draft, const std::string& key, bool present, double value) {
  FitsFloat(draft, key, present, value);
  if (!present || static_cast<float>(value) > 0) return;
  draft->Refuse(key, absl::StrCat(FormatNumber(value), value > 0 ? " is too small; write a number above 1e-45" : " must be more than 0"));
}

template <class List>
void NoEmptyText(JobDraft* draft, const std::string& key, const List& texts, const char* what) {
  for (int i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) draft->Refuse(absl::StrCat(key, "[", i, "]"), absl::StrCat("is empty; write ", what));
  }
}

// ---- data

void ValidateCsv(JobDraft* draft) {
  const Data& data = draft->job.data();
  const Csv& csv = data.csv();
  if (data.has_csv() && data.format() != Format::csv && data.format() != FORMAT_UNSPECIFIED) {
    return draft->Refuse("data.csv", absl::StrCat("data.format is ", Format_Name(data.format()), "; remove csv, or write format: csv"));
  }
  const std::string separator = csv.has_separator() ? csv.separator() : ",", quote = csv.has_quote() ? csv.quote() : "\"";
  const auto ends_line = [](const std::string& text) { return text == "\n" || text == "\r"; };
  if (separator.size() != 1 || ends_line(separator)) {
    draft->Refuse("data.csv.separator",
                  absl::StrCat(QuoteText(separator), " is not one byte within a line; write one such as \",\" or \";\" or \"\\t\""));
  }
  if (quote.size() > 1 || ends_line(quote)) {
    draft->Refuse("data.csv.quote",
                  absl::StrCat(QuoteText(quote), " is not one byte within a line; write one such as '\"', or \"\" for none"));
  }
  if (separator == quote) {
    draft->Refuse(csv.has_quote() ? "data.csv.quote" : "data.csv.separator",
                  absl::StrCat("separator and quote are both ", QuoteText(quote), "; change one"));
  }
}

void ValidateLabels(JobDraft* draft) {
  const Data& data = draft->job.data();
  if (data.format() == Format::csv && data.labels_size() == 0) {
    draft->Refuse("data.labels", "is missing and csv needs it; write labels: [{column: NAME, positive: [\"1\"], negative: [\"0\"]}]");
  }
  if (data.labels_size() > 1)
    draft->Refuse("data.labels", absl::StrCat("has ", data.labels_size(), " labels and this version trains one; keep one"));
  for (int i = 0; i < data.labels_size(); ++i) {
    const Label& label = data.labels(i);
    const std::string key = absl::StrCat("data.labels[", i, "]");
    if (data.format() == Format::csv && label.column().empty()) draft->Refuse(key + ".column", "is missing; write the label column's name");
    if ((label.positive_size() == 0) != (label.negative_size() == 0)) {
      const char* const other = label.positive_size() == 0 ? "positive" : "negative";
      draft->Refuse(absl::StrCat(key, ".", other), "is missing; spellings are given for both or for neither (then 1 and 0)");
    }
    for (const std::string& spelling : label.positive()) {
      if (std::find(label.negative().begin(), label.negative().end(), spelling) != label.negative().end()) {
        draft->Refuse(key + ".negative", absl::StrCat(QuoteText(spelling), " is in positive too; keep it in one of them"));
      }
    }
  }
}

void ValidateFiles(JobDraft* draft) {
  const Data& data = draft->job.data();
  if (data.train().files_size() == 0)
    draft->Refuse("data.train.files", "is missing; write the training files, such as files: [logs/day_*.csv.gz]");
  NoEmptyText(draft, "data.train.files", data.train().files(), "a path or a glob");
  NoEmptyText(draft, "data.train.exclude", data.train().exclude(), "a path or a glob");
  NoEmptyText(draft, "data.evaluate.files", data.evaluate().files(), "a path or a glob");
  NoEmptyText(draft, "data.evaluate.exclude", data.evaluate().exclude(), "a path or a glob");
  if (data.evaluate().exclude_size() > 0 && data.evaluate().files_size() == 0) {
    draft->Refuse("data.evaluate.exclude", "excludes from nothing; write data.evaluate.files, or use data.train.exclude");
  }
  Fraction(draft, "data.evaluate.holdout", data.evaluate().has_holdout(), data.evaluate().holdout());
}

void ValidateData(JobDraft* draft) {
  const Data& data = draft->job.data();
  if (!draft->job.has_data()) {
    return draft->Refuse("data", "is missing; write at least data: {format: csv, train: {files: [FILE]}, labels: [{column: NAME}]}");
  }
  if (data.format() == FORMAT_UNSPECIFIED) draft->Refuse("data.format", "is missing; write format: criteo, csv or libsvm");
  ValidateFiles(draft);
  ValidateCsv(draft);
  ValidateLabels(draft);
  if (!data.weight().empty()) draft->Refuse("data.weight", "rows are not weighted in this version; remove it");
  NoEmptyText(draft, "data.keep", data.keep(), "a column's name");
  if (data.format() == libsvm && data.keep_size() > 0) draft->Refuse("data.keep", "libsvm has no named columns; remove it");
  Within<uint64_t>(draft, "data.block_bytes", data.has_block_bytes(), data.block_bytes().bytes(), 1, kBlockBytesMax);
}

void ValidateFeatures(JobDraft* draft) {
  const Job& job = draft->job;
  if (job.data().format() == libsvm && job.features_size() > 0) {
    return draft->Refuse("features", "libsvm has no named columns to match; remove it");
  }
  for (int i = 0; i < job.features_size(); ++i) {
    const FeatureRule& rule = job.features(i);
    const std::string key = absl::StrCat("features[", i, "]");
    if (rule.match_size() == 0) draft->Refuse(key + ".match", "is missing; write column names or globs, such as match: [\"cnt_*\"]");
    NoEmptyText(draft, key + ".match", rule.match(), "a column name or a glob");
    if (rule.as() == FEATURE_KIND_UNSPECIFIED) draft->Refuse(key + ".as", "is missing; write as: categorical, numeric or ignored");
    if (rule.as() == FEATURE_KIND_UNSPECIFIED) continue;
    if (rule.treat_size() > 0 && rule.as() != numeric)
      draft->Refuse(key + ".treat", "is for numeric features only; remove it, or write as: numeric");
    if (!rule.embedding().empty() && rule.as() != categorical) {
      draft->Refuse(key + ".embedding", "is for categorical features only; remove it, or write as: categorical");
    }
    for (int k = 1; k < rule.treat_size(); ++k) {
      if (std::count(rule.treat().begin(), rule.treat().begin() + k, rule.treat(k)) > 0) {
        draft->Refuse(key + ".treat", absl::StrCat(Treatment_Name(static_cast<Treatment>(rule.treat(k))), " stands twice; keep one"));
      }
    }
  }
}

// ---- model and training

void ValidateModel(JobDraft* draft) {
  const auto& model = draft->job.model();
  Within<uint32_t>(draft, "model.embedding_dim", model.has_embedding_dim(), model.embedding_dim(), 1, kEmbeddingDimMax);
  if (model.hidden_size() > kLayersMax)
    draft->Refuse("model.hidden", absl::StrCat("has ", model.hidden_size(), " layers; write at most ", kLayersMax));
  for (int i = 0; i < model.hidden_size(); ++i) {
    Within<uint32_t>(draft, absl::StrCat("model.hidden[", i, "]"), true, model.hidden(i), 1, kHiddenMax);
  }
  Fraction(draft, "model.dropout", model.has_dropout(), model.dropout());
}

// Of the newer kinds, and L2 of all: what is divided by is above 0, decays are below 1, the rest is not negative.
void ValidateConstants(JobDraft* draft, const std::string& key, const Optimizer& optimizer) {
  for (const char* kind : {"sgd", "adagrad", "adam", "momentum", "rowwise_adagrad", "adamw", "ftrl"}) {
    const auto* const field = Optimizer::descriptor()->FindFieldByName(kind);
    const bool old = field->number() <= Optimizer::kAdamFieldNumber;
    if (!optimizer.GetReflection()->HasField(optimizer, field)) continue;
    const google::protobuf::Message& constants = optimizer.GetReflection()->GetMessage(optimizer, field);
    for (int i = 0; i < constants.GetDescriptor()->field_count(); ++i) {
      const auto* const constant = constants.GetDescriptor()->field(i);
      const std::string& name = constant->name();
      if (!constants.GetReflection()->HasField(constants, constant) || (old && name != "l2")) continue;
      const std::string path = absl::StrCat(key, ".", kind, ".", name);
      const double value = constants.GetReflection()->GetDouble(constants, constant);
      if (name == "learning_rate" || name == "epsilon") {
        Positive(draft, path, true, value);
      } else if (name == "momentum" || name == "beta1" || name == "beta2") {
        Fraction(draft, path, true, value);
      } else {
        FitsFloat(draft, path, true, value);
        if (value < 0) draft->Refuse(path, absl::StrCat(FormatNumber(value), " is negative; write 0 or more"));
      }
    }
  }
}

void ValidateOptimizer(JobDraft* draft, const std::string& key, const Optimizer& optimizer) {
  const Sgd& sgd = optimizer.sgd();
  const Adagrad& adagrad = optimizer.adagrad();
  const Adam& adam = optimizer.adam();
  Positive(draft, key + ".sgd.learning_rate", sgd.has_learning_rate(), sgd.learning_rate());
  Positive(draft, key + ".adagrad.learning_rate", adagrad.has_learning_rate(), adagrad.learning_rate());
  Positive(draft, key + ".adagrad.epsilon", adagrad.has_epsilon(), adagrad.epsilon());
  FitsFloat(draft, key + ".adagrad.initial_accumulator", adagrad.has_initial_accumulator(), adagrad.initial_accumulator());
  if (adagrad.has_initial_accumulator() && adagrad.initial_accumulator() < 0) {
    draft->Refuse(key + ".adagrad.initial_accumulator",
                  absl::StrCat(FormatNumber(adagrad.initial_accumulator()), " is negative; write 0 or more"));
  }
  Positive(draft, key + ".adam.learning_rate", adam.has_learning_rate(), adam.learning_rate());
  Positive(draft, key + ".adam.epsilon", adam.has_epsilon(), adam.epsilon());
  Fraction(draft, key + ".adam.beta1", adam.has_beta1(), adam.beta1());
  Fraction(draft, key + ".adam.beta2", adam.has_beta2(), adam.beta2());
  ValidateConstants(draft, key, optimizer);
}

void ValidateTraining(JobDraft* draft) {
  const Training& training = draft->job.training();
  Within<uint32_t>(draft, "training.batch_size", training.has_batch_size(), training.batch_size(), 1, kBatchRowsMax);
  Within<uint32_t>(draft, "training.epochs", training.has_epochs(), training.epochs(), 1, kEpochsMax);
  Within<uint32_t>(draft, "training.workers", training.has_workers(), training.workers(), 1, kPeersMax);
  Within<uint32_t>(draft, "training.shares", training.has_shares(), training.shares(), 1, kPeersMax);
  Within<uint32_t>(draft, "training.threads", training.has_threads(), training.threads(), 1, kPeersMax);
  Within<uint32_t>(draft, "training.staleness", training.has_staleness(), training.staleness(), 0, kStalenessMax);
  if (training.has_staleness() && training.mode() != bounded) {
    draft->Refuse("training.staleness", "bounds how far workers run ahead in training.mode: bounded; leave it out, or write that mode");
  }
  if (training.compensate_staleness() && training.mode() != async && training.mode() != bounded) {
    draft->Refuse("training.compensate_staleness", "no gradient is stale in training.mode: sync; leave it out");
  }
  if (training.backend() == cuda) draft->Refuse("training.backend", "cuda is not in this version; write cpu");
  // A share without a row in a step would never train its rows. Unset shares are as many as workers.
  const uint32_t shares = training.has_shares() ? training.shares() : training.workers();
  if (training.has_batch_size() && training.batch_size() > 0 && training.batch_size() < shares) {
    draft->Refuse("training.batch_size",
                  absl::StrCat(training.batch_size(), " is less than ", training.has_shares() ? "training.shares (" : "training.workers (",
                               shares, "); each takes at least one row of a step"));
  }
}

void ValidateStorage(JobDraft* draft) {
  const Job& job = draft->job;
  const Evaluation& evaluation = job.evaluation();
  Within<uint32_t>(draft, "evaluation.patience", evaluation.has_patience(), evaluation.patience(), 1, kEpochsMax);
  Within<uint32_t>(draft, "checkpoint.keep", job.checkpoint().has_keep(), job.checkpoint().keep(), 1, kEpochsMax);
  ValidateStorageKeys(draft);
  if (!job.storage().directory().empty() && job.storage().directory() == job.checkpoint().directory()) {
    draft->Refuse("checkpoint.directory", "is storage.directory too; write another folder");
  }
}

}  // namespace

void ValidateJob(JobDraft* draft) {
  ValidateName(draft);
  ValidateData(draft);
  ValidateFeatures(draft);
  ValidateModel(draft);
  ValidateOptimizer(draft, "optimizers.sparse", draft->job.optimizers().sparse());
  ValidateOptimizer(draft, "optimizers.first_order", draft->job.optimizers().first_order());
  ValidateOptimizer(draft, "optimizers.dense", draft->job.optimizers().dense());
  if (draft->job.optimizers().dense().has_rowwise_adagrad()) {
    draft->Refuse("optimizers.dense.rowwise_adagrad", "is for rows of a table; write adagrad");
  }
  ValidateTraining(draft);
  ValidateStorage(draft);
}

}  // namespace tessera
