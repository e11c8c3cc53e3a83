// The command a person types: `tessera NOUN VERB` or `tessera VERB`, each with flags, help and --json in one manner.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace CLI {
class App;
}

namespace tessera {

// Marks a status as the fault of what was typed or of the job file: exit code 2 instead of 1. An OK status stays OK.
absl::Status UsageError(absl::Status status);

// Where a command leaves its result. Owned by one thread.
class Output {
 public:
  explicit Output(bool json) : json_(json) {}
  // Whether the caller is a script: then exactly one JSON object goes to stdout, and nothing else.
  bool json() const { return json_; }
  void SetJson(std::string object) { object_ = std::move(object); }
  const std::string& object() const { return object_; }
  // For people, on stdout; nothing with --json.
  void Text(absl::string_view text) const;

 private:
  const bool json_;
  std::string object_;
};

// Declares commands and runs the one that is typed. Owned by one thread.
class CommandLine {
 public:
  CommandLine();
  ~CommandLine();

  using Body = std::function<absl::Status(Output* output)>;
  // Declares a command with --json; flags are added to what is returned, which lives as long as this. `path` is one or two words.
  CLI::App* Add(const std::string& path, const std::string& description, Body body);
  // The sentence that `tessera --help` has for the noun of a two-word path.
  void Describe(const std::string& noun, const std::string& description);

  // 0: done; 1: failed; 2: what was typed or the job file is wrong. Errors go to stderr, and with --json as {"error": ...} to stdout too
  // where the command left no object.
  int Run(int argc, const char* const* argv);

 private:
  struct Command {
    CLI::App* app;
    Body body;
  };
  CLI::App* Noun(const std::string& name);

  std::unique_ptr<CLI::App> app_;
  std::vector<Command> commands_;
};

}  // namespace tessera
