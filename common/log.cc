#include "common/log.h"

#include <memory>

#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace tessera {
namespace {

void Log(spdlog::level::level_enum level, absl::string_view message) {
  spdlog::default_logger_raw()->log(level, spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace

void StartLog(const std::string& speaker) {
  auto logger = std::make_shared<spdlog::logger>(speaker, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void LogInfo(absl::string_view message) { Log(spdlog::level::info, message); }
void LogWarning(absl::string_view message) { Log(spdlog::level::warn, message); }
void LogError(absl::string_view message) { Log(spdlog::level::err, message); }

}  // namespace tessera
