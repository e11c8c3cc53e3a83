#include <algorithm>
#include <cmath>
#include <filesystem>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "common/job/job_file.h"
#include "common/job/job_values.h"
#include "common/job/storage_keys.h"
#include "common/job/units.h"

namespace tessera {
namespace {

// Below this many rows a set is small: it takes several epochs, small batches and more dropout. Click data beyond overfits in its second.
constexpr uint64_t kSmallRows = 300000;
constexpr uint64_t kRowsPerStep = 500;  // about so many steps an epoch
constexpr uint32_t kBatchRowsMin = 256;
constexpr uint32_t kSmallBatchRowsMax = 512;
constexpr uint32_t kBatchRowsMax = 8192;
// The dense rate is tuned for batches up to this; it grows with the square root beyond, the sparse rate does not.
constexpr double kDenseRate = 0.001;
constexpr double kDenseRateRows = 512;
constexpr double kDenseRateGrowthMax = 4;
constexpr double kSparseRate = 0.02;
constexpr double kSgdRate = 0.1;
constexpr double kMomentumRate = 0.01;  // momentum 0.9 adds up to ten times it
constexpr double kFtrlRate = 0.1;
// A part that gives a steady score: some thousand rows.
constexpr double kSmallHoldout = 0.1;
constexpr double kHoldout = 0.02;
// Rows of one block stay together in async mode, and neighbours in a log are alike: blocks of few rows mix well.
constexpr uint64_t kBlocks = 4096;
constexpr uint64_t kBlockBytesMin = 1u << 10;
constexpr uint64_t kBlockBytesMax = 16u << 20;
constexpr uint64_t kShuffleRows = 131072;
constexpr uint32_t kStaleness = 4;
constexpr int64_t kPatienceMs = 5 * 60 * 1000;
constexpr int64_t kCheckpointMs = 10 * 60 * 1000;

// Fills one job. Each Fill sets what is absent and notes why.
class Filler {
 public:
  Filler(const DataSize& size, Job* job) : size_(size), small_(size.rows < kSmallRows), job_(*job) {}

  void FillAll() {
    FillData();
    FillModel();
    FillTraining();  // before the optimizers: rates depend on the batch
    FillOptimizer("optimizers.sparse", true, job_.mutable_optimizers()->mutable_sparse());
    if (job_.optimizers().has_first_order()) FillOptimizer("optimizers.first_order", true, job_.mutable_optimizers()->mutable_first_order());
    FillOptimizer("optimizers.dense", false, job_.mutable_optimizers()->mutable_dense());
    FillEvaluation();
    FillFolders();
    FillStorage(&job_, [this](const std::string& key, const std::string& reason) { Note(key, reason); });
  }
  void AppendOrigins(std::vector<Origin>* origins) const;

 private:
  void Note(const std::string& key, std::string reason) { reasons_.emplace_back(key, std::move(reason)); }
  std::string RowsText() const { return absl::StrCat(size_.rows, small_ ? " rows, under " : " rows, not under ", kSmallRows); }

  void FillData();
  void FillModel();
  void FillTraining();
  void FillBatchSize();
  void FillEpochs();
  void FillOptimizer(const std::string& key, bool sparse, Optimizer* optimizer);
  void FillAdamRate(const std::string& key, bool sparse, Adam* adam);
  void FillEvaluation();
  void FillFolders();

  // Sets an optional scalar of a message through its setter.
  template <class M, class T>
  void Scalar(bool present, M* message, void (M::*set)(T), T value, const std::string& key, std::string reason) {
    if (present) return;
    (message->*set)(value);
    Note(key, std::move(reason));
  }

  const DataSize& size_;
  const bool small_;
  Job& job_;
  std::vector<std::pair<std::string, std::string>> reasons_;
};

void Filler::FillData() {
  if (job_.name().empty()) {
    job_.set_name("job");
    Note("name", "none given");
  }
  Scalar(job_.has_seed(), &job_, &Job::set_seed, uint64_t{1}, "seed", "any fixed number: two runs are alike");
  Data& data = *job_.mutable_data();
  if (data.format() == csv) {
    Csv& csv = *data.mutable_csv();
    if (!csv.has_separator()) csv.set_separator(","), Note("data.csv.separator", "csv");
    if (!csv.has_quote()) csv.set_quote("\""), Note("data.csv.quote", "csv");
    Scalar(csv.has_header(), &csv, &Csv::set_header, true, "data.csv.header", "csv");
    if (csv.missing_size() == 0) {
      csv.add_missing("");
      csv.add_missing("?");
      Note("data.csv.missing", "the usual spellings of no value");
    }
  }
  Scalar(data.train().has_shuffle(), data.mutable_train(), &TrainFiles::set_shuffle, kShuffleRows, "data.train.shuffle",
         "a window that fits in memory beside the model");
  if (!data.has_block_bytes()) {
    data.mutable_block_bytes()->set_bytes(std::clamp(size_.plain_bytes / kBlocks, kBlockBytesMin, kBlockBytesMax));
    Note("data.block_bytes",
         absl::StrCat("training bytes / ", kBlocks, ", within ", FormatByteSize(kBlockBytesMin), " to ", FormatByteSize(kBlockBytesMax)));
  }
  const bool files = data.evaluate().files_size() > 0;
  const double holdout = files ? 0 : small_ ? kSmallHoldout : kHoldout;
  Scalar(data.evaluate().has_holdout(), data.mutable_evaluate(), &EvaluateFiles::set_holdout, holdout, "data.evaluate.holdout",
         files ? "data.evaluate.files are given" : absl::StrCat("no evaluation files; ", RowsText()));
  for (int i = 0; i < job_.features_size(); ++i) {
    FeatureRule& rule = *job_.mutable_features(i);
    if (rule.as() != numeric || rule.treat_size() > 0) continue;
    rule.add_treat(bucket);
    rule.add_treat(scaled);
    Note(absl::StrCat("features[", i, "].treat"), "both together train best");
  }
}

void Filler::FillModel() {
  Model& model = *job_.mutable_model();
  if (model.type() == MODEL_TYPE_UNSPECIFIED) model.set_type(deepfm), Note("model.type", "good on click data without tuning");
  Scalar(model.has_embedding_dim(), &model, &Model::set_embedding_dim, uint32_t{16}, "model.embedding_dim", "usual for click data");
  if (model.hidden_size() == 0) {
    for (int i = 0; i < 3; ++i) model.add_hidden(400);
    Note("model.hidden", "the layers of the DeepFM paper");
  }
  FillRowInitializer(&model, [this](const std::string& key, const std::string& reason) { Note(key, reason); });
  Scalar(model.has_dropout(), &model, &Model::set_dropout, small_ ? 0.2 : 0.1, "model.dropout", RowsText());
}

void Filler::FillTraining() {
  Training& training = *job_.mutable_training();
  if (training.mode() == MODE_UNSPECIFIED) training.set_mode(sync), Note("training.mode", "the same result at any number of workers");
  if (training.backend() == BACKEND_UNSPECIFIED) training.set_backend(cpu), Note("training.backend", "runs everywhere");
  Scalar(training.has_workers(), &training, &Training::set_workers, uint32_t{1}, "training.workers", "one process");
  Scalar(training.has_shares(), &training, &Training::set_shares, training.workers(), "training.shares", "as many as workers");
  FillBatchSize();
  FillEpochs();
  if (!training.has_patience()) {
    training.mutable_patience()->set_ms(kPatienceMs);
    Note("training.patience", "long enough for a machine to restart");
  }
  if (training.mode() == bounded) {
    Scalar(training.has_staleness(), &training, &Training::set_staleness, kStaleness, "training.staleness",
           "evens out batches that take longer than others");
  }
  Scalar(training.has_refusals_max(), &training, &Training::set_refusals_max, uint32_t{0}, "training.refusals_max",
         "a gradient that is not finite seldom comes alone");
}

void Filler::FillBatchSize() {
  Training& training = *job_.mutable_training();
  if (training.has_batch_size()) return;
  const uint32_t most = small_ ? kSmallBatchRowsMax : kBatchRowsMax;
  const double wanted = std::max(1.0, static_cast<double>(size_.rows) / kRowsPerStep);
  const double nearest = std::exp2(std::round(std::log2(wanted)));
  uint32_t rows = static_cast<uint32_t>(std::clamp<double>(nearest, kBatchRowsMin, most));
  std::string reason = absl::StrCat("power of two nearest rows / ", kRowsPerStep, ", within ", kBatchRowsMin, " to ", most);
  if (rows < training.shares()) {
    while (rows < training.shares()) rows *= 2;
    reason = "power of two that gives every share a row";
  }
  training.set_batch_size(rows);
  Note("training.batch_size", std::move(reason));
}

void Filler::FillEpochs() {
  const bool evaluated = job_.data().evaluate().holdout() > 0 || job_.data().evaluate().files_size() > 0;
  const uint32_t epochs = !small_ ? 1 : evaluated ? 10 : 4;
  Scalar(job_.training().has_epochs(), job_.mutable_training(), &Training::set_epochs, epochs, "training.epochs",
         absl::StrCat(RowsText(), !small_     ? "; click data overfits in its second epoch"
                                  : evaluated ? "; the evaluation stops it earlier"
                                              : "; no evaluation stops it earlier"));
}

void Filler::FillOptimizer(const std::string& key, bool sparse, Optimizer* optimizer) {
  if (optimizer->kind_case() == Optimizer::KIND_NOT_SET) {
    if (sparse) optimizer->mutable_adagrad();
    else optimizer->mutable_adam();
  }
  if (optimizer->has_sgd()) {
    Sgd* const sgd = optimizer->mutable_sgd();
    Scalar(sgd->has_learning_rate(), sgd, &Sgd::set_learning_rate, kSgdRate, key + ".sgd.learning_rate", "usual");
    Scalar(sgd->has_l2(), sgd, &Sgd::set_l2, 0.0, key + ".sgd.l2", "off");
  } else if (optimizer->has_adagrad()) {
    Adagrad* const adagrad = optimizer->mutable_adagrad();
    Scalar(adagrad->has_learning_rate(), adagrad, &Adagrad::set_learning_rate, kSparseRate, key + ".adagrad.learning_rate",
           "good for any batch size: it is not scaled");
    Scalar(adagrad->has_initial_accumulator(), adagrad, &Adagrad::set_initial_accumulator, 0.0, key + ".adagrad.initial_accumulator",
           "usual");
    Scalar(adagrad->has_epsilon(), adagrad, &Adagrad::set_epsilon, 1e-10, key + ".adagrad.epsilon", "usual");
    Scalar(adagrad->has_l2(), adagrad, &Adagrad::set_l2, 0.0, key + ".adagrad.l2", "off");
  } else if (optimizer->has_momentum()) {
    Momentum* const momentum = optimizer->mutable_momentum();
    Scalar(momentum->has_learning_rate(), momentum, &Momentum::set_learning_rate, kMomentumRate, key + ".momentum.learning_rate", "usual");
    Scalar(momentum->has_momentum(), momentum, &Momentum::set_momentum, 0.9, key + ".momentum.momentum", "usual");
    Scalar(momentum->has_l2(), momentum, &Momentum::set_l2, 0.0, key + ".momentum.l2", "off");
  } else if (optimizer->has_rowwise_adagrad()) {
    RowwiseAdagrad* const rowwise_adagrad = optimizer->mutable_rowwise_adagrad();
    Scalar(rowwise_adagrad->has_learning_rate(), rowwise_adagrad, &RowwiseAdagrad::set_learning_rate, kSparseRate, key + ".rowwise_adagrad.learning_rate", "as for adagrad");
    Scalar(rowwise_adagrad->has_initial_accumulator(), rowwise_adagrad, &RowwiseAdagrad::set_initial_accumulator, 0.0, key + ".rowwise_adagrad.initial_accumulator", "usual");
    Scalar(rowwise_adagrad->has_epsilon(), rowwise_adagrad, &RowwiseAdagrad::set_epsilon, 1e-10, key + ".rowwise_adagrad.epsilon", "usual");
    Scalar(rowwise_adagrad->has_l2(), rowwise_adagrad, &RowwiseAdagrad::set_l2, 0.0, key + ".rowwise_adagrad.l2", "off");
  } else if (optimizer->has_adamw()) {
    AdamW* const adamw = optimizer->mutable_adamw();
    Scalar(adamw->has_learning_rate(), adamw, &AdamW::set_learning_rate, kDenseRate, key + ".adamw.learning_rate", "usual");
    Scalar(adamw->has_beta1(), adamw, &AdamW::set_beta1, 0.9, key + ".adamw.beta1", "usual");
    Scalar(adamw->has_beta2(), adamw, &AdamW::set_beta2, 0.999, key + ".adamw.beta2", "usual");
    Scalar(adamw->has_epsilon(), adamw, &AdamW::set_epsilon, 1e-8, key + ".adamw.epsilon", "usual");
    Scalar(adamw->has_weight_decay(), adamw, &AdamW::set_weight_decay, 0.01, key + ".adamw.weight_decay", "usual");
  } else if (optimizer->has_ftrl()) {
    Ftrl* const ftrl = optimizer->mutable_ftrl();
    Scalar(ftrl->has_learning_rate(), ftrl, &Ftrl::set_learning_rate, kFtrlRate, key + ".ftrl.learning_rate", "usual");
    Scalar(ftrl->has_beta(), ftrl, &Ftrl::set_beta, 1.0, key + ".ftrl.beta", "usual");
    Scalar(ftrl->has_l1(), ftrl, &Ftrl::set_l1, 0.0, key + ".ftrl.l1", "off");
    Scalar(ftrl->has_l2(), ftrl, &Ftrl::set_l2, 0.0, key + ".ftrl.l2", "off");
  } else {
    Adam* const adam = optimizer->mutable_adam();
    FillAdamRate(key, sparse, adam);
    Scalar(adam->has_beta1(), adam, &Adam::set_beta1, 0.9, key + ".adam.beta1", "usual");
    Scalar(adam->has_beta2(), adam, &Adam::set_beta2, 0.999, key + ".adam.beta2", "usual");
    Scalar(adam->has_epsilon(), adam, &Adam::set_epsilon, 1e-8, key + ".adam.epsilon", "usual");
    Scalar(adam->has_l2(), adam, &Adam::set_l2, 0.0, key + ".adam.l2", "off");
  }
}

void Filler::FillAdamRate(const std::string& key, bool sparse, Adam* adam) {
  const double growth = sparse ? 1 : std::clamp(std::sqrt(job_.training().batch_size() / kDenseRateRows), 1.0, kDenseRateGrowthMax);
  std::string reason =
      growth == 1 ? "usual" : absl::StrCat(FormatNumber(kDenseRate), " x square root of batch_size / ", FormatNumber(kDenseRateRows));
  if (growth == kDenseRateGrowthMax) absl::StrAppend(&reason, ", at most ", FormatNumber(kDenseRate * kDenseRateGrowthMax));
  Scalar(adam->has_learning_rate(), adam, &Adam::set_learning_rate, kDenseRate * growth, key + ".adam.learning_rate", std::move(reason));
}

void Filler::FillEvaluation() {
  Evaluation& evaluation = *job_.mutable_evaluation();
  if (evaluation.every().every_case() == Cadence::EVERY_NOT_SET) {
    evaluation.mutable_every()->set_epochs(1);
    Note("evaluation.every", "usual");
  }
  if (evaluation.monitor() == METRIC_UNSPECIFIED)
    evaluation.set_monitor(auc), Note("evaluation.monitor", "ranking is what click models are for");
  Scalar(evaluation.has_patience(), &evaluation, &Evaluation::set_patience, uint32_t{2}, "evaluation.patience",
         "one bad evaluation may be chance");
  Scalar(evaluation.has_restore_best(), &evaluation, &Evaluation::set_restore_best, true, "evaluation.restore_best",
         "the last state is seldom the best");
}

void Filler::FillFolders() {
  std::error_code error;  // the current folder was removed: the paths stay relative, and whoever opens them is refused
  const std::filesystem::path here = std::filesystem::current_path(error);
  const auto folder = [&](const char* name) { return (here / "runs" / job_.name() / name).string(); };
  Storage& storage = *job_.mutable_storage();
  CheckpointPolicy& checkpoint = *job_.mutable_checkpoint();
  if (storage.directory().empty()) storage.set_directory(folder("state")), Note("storage.directory", "below the current folder");
  if (checkpoint.directory().empty())
    checkpoint.set_directory(folder("checkpoints")), Note("checkpoint.directory", "below the current folder");
  if (checkpoint.every().every_case() == Cadence::EVERY_NOT_SET) {
    checkpoint.mutable_every()->set_ms(kCheckpointMs);
    Note("checkpoint.every", "so much work is lost at most");
  }
  Scalar(checkpoint.has_keep(), &checkpoint, &CheckpointPolicy::set_keep, uint32_t{3}, "checkpoint.keep",
         "the newest ones, beside the best");
}

void Filler::AppendOrigins(std::vector<Origin>* origins) const {
  absl::flat_hash_map<std::string, std::string> texts;
  for (JobValue& value : JobValues(job_)) texts[value.key] = std::move(value.text);
  for (const auto& [key, reason] : reasons_) {
    Origin origin;
    origin.set_key(key);
    origin.set_value(texts.at(key));
    origin.set_source("default");
    origin.set_reason(reason);
    origins->push_back(std::move(origin));
  }
}

}  // namespace

void FillDefaults(const DataSize& size, Job* job, std::vector<Origin>* origins) {
  Filler filler(size, job);
  filler.FillAll();
  filler.AppendOrigins(origins);
}

}  // namespace tessera
