#include "tools/command_line.h"

#include <cstdio>
#include <string>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tools/json.h"

namespace tessera {
namespace {

constexpr char kUsagePayload[] = "tessera/usage";
constexpr char kJsonFlag[] = "--json";

int ExitCode(const absl::Status& status) {
  if (status.ok()) return 0;
  return status.GetPayload(kUsagePayload).has_value() ? 2 : 1;
}

// The deepest command that was recognised.
const CLI::App& Deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

// Its words.
std::string Typed(const CLI::App& app) {
  if (app.get_subcommands().empty()) return app.get_name();
  return absl::StrCat(app.get_name(), " ", Typed(*app.get_subcommands().front()));
}

std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& deepest = Deepest(app);
  const std::vector<std::string> unknown = deepest.remaining();
  const bool wants_command = deepest.get_require_subcommand_min() > 0;
  const std::string what = !wants_command    ? error.what()
                           : unknown.empty() ? "a command must follow"
                                             : absl::StrCat(unknown[0], ": no such command");
  return absl::StrCat(what, "\nType `", Typed(app), " --help`.");
}

void PrintError(const std::string& words, const absl::Status& status) {
  const std::string message = std::string(status.message());
  std::fprintf(stderr, "%s: %s\n", words.c_str(), message.empty() ? absl::StatusCodeToString(status.code()).c_str() : message.c_str());
}

void PrintObject(const std::string& object) { std::fwrite(object.data(), 1, object.size(), stdout); }

}  // namespace

absl::Status UsageError(absl::Status status) {
  if (!status.ok()) status.SetPayload(kUsagePayload, absl::Cord());
  return status;
}

void Output::Text(absl::string_view text) const {
  if (!json_) std::fwrite(text.data(), 1, text.size(), stdout);
}

CommandLine::CommandLine()
    : app_(std::make_unique<CLI::App>("Tessera trains click-through models whose embedding tables outgrow one machine.", "tessera")) {
  app_->require_subcommand(1);
  app_->footer(
      "Type `tessera COMMAND --help` for the flags of a command. Exit codes: 0 done, 1 the job failed, 2 usage or job file wrong.");
}

CommandLine::~CommandLine() = default;

CLI::App* CommandLine::Noun(const std::string& name) {
  const std::vector<CLI::App*> known = app_->get_subcommands([&name](const CLI::App* command) { return command->get_name() == name; });
  if (!known.empty()) return known.front();
  CLI::App* noun = app_->add_subcommand(name);
  noun->require_subcommand(1);
  return noun;
}

void CommandLine::Describe(const std::string& noun, const std::string& description) { Noun(noun)->description(description); }

CLI::App* CommandLine::Add(const std::string& path, const std::string& description, Body body) {
  const std::vector<std::string> words = absl::StrSplit(path, ' ');
  CLI::App* parent = words.size() == 2 ? Noun(words[0]) : app_.get();
  CLI::App* command = parent->add_subcommand(words.back(), description);
  command->add_flag(kJsonFlag)->description("print exactly one JSON object on stdout");
  commands_.push_back({command, std::move(body)});
  return command;
}

int CommandLine::Run(int argc, const char* const* argv) {
  // A script that asked for JSON gets it even where the rest of its line was not understood.
  bool wants_json = false;
  for (int i = 1; i < argc; ++i) wants_json |= argv[i] == std::string(kJsonFlag);
  absl::Status status;
  Output output(wants_json);
  try {
    app_->parse(argc, argv);
  } catch (const CLI::CallForHelp& error) {
    return app_->exit(error);
  } catch (const CLI::ParseError& error) {
    status = UsageError(absl::InvalidArgumentError(Complaint(*app_, error)));
  }
  if (status.ok()) {
    for (const Command& command : commands_) {
      if (command.app->parsed()) status = command.body(&output);
    }
  }
  if (!status.ok()) PrintError(Typed(*app_), status);
  if (wants_json) {
    PrintObject(!output.object().empty() || status.ok()
                    ? output.object()
                    : JsonWriter().BeginObject().Key("error").String(std::string(status.message())).EndObject().Finish());
  }
  std::fflush(stdout);
  return ExitCode(status);
}

}  // namespace tessera
