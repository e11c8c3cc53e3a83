#include "common/job/units.h"

#include <charconv>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

struct Unit {
  const char* name;
  uint64_t size;
};

// Largest first: a formatter takes the first one that divides the value.
constexpr Unit kDurationUnits[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
constexpr Unit kByteUnits[] = {{"TiB", uint64_t{1} << 40}, {"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}, {"TB", 1000000000000},
                               {"GB", 1000000000},         {"MB", 1000000},   {"KB", 1000},      {"B", 1}};

// "1.5 h" -> number 1.5, unit "h".
struct Quantity {
  absl::string_view number;
  absl::string_view unit;
};

Quantity Split(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  size_t end = 0;
  while (end < text.size() && (absl::ascii_isdigit(text[end]) || text[end] == '.')) ++end;
  return {text.substr(0, end), absl::StripLeadingAsciiWhitespace(text.substr(end))};
}

absl::Status Refuse(absl::string_view text, absl::string_view why, absl::string_view how) {
  return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" ", why, "; write ", how));
}

// number x unit as a whole number in (0, max].
absl::StatusOr<uint64_t> Multiply(absl::string_view text, const Quantity& quantity, uint64_t unit, double max, absl::string_view how) {
  double number = 0;
  uint64_t whole = 0;
  if (absl::SimpleAtoi(quantity.number, &whole)) {
    if (whole == 0) return Refuse(text, "must be more than 0", how);
    if (static_cast<double>(whole) * static_cast<double>(unit) > max) return Refuse(text, "is too large", how);
    return whole * unit;
  }
  if (quantity.number.empty() || !absl::SimpleAtod(quantity.number, &number)) return Refuse(text, "does not begin with a number", how);
  number *= static_cast<double>(unit);
  if (number > max) return Refuse(text, "is too large", how);
  if (number <= 0) return Refuse(text, "must be more than 0", how);
  if (number != std::floor(number)) return Refuse(text, "comes to no whole number of the smallest unit", how);
  return static_cast<uint64_t>(number);
}

template <size_t n>
const Unit* FindUnit(const Unit (&units)[n], absl::string_view name) {
  for (const Unit& unit : units) {
    if (name == unit.name) return &unit;
  }
  return nullptr;
}

template <size_t n>
std::string InUnits(const Unit (&units)[n], uint64_t value) {
  for (const Unit& unit : units) {
    if (value > 0 && value % unit.size == 0) return absl::StrCat(value / unit.size, unit.name);
  }
  return "0";
}

constexpr char kDurationHow[] = "a number and a unit (ms, s, m, h, d), such as 10m or 90s";
constexpr char kByteSizeHow[] = "bytes, or a number and a unit (KiB, MiB, GiB, TiB, KB, MB, GB, TB), such as 4GiB";
constexpr char kCadenceHow[] = "\"500 steps\", \"10m\" or \"1 epoch\"";
// Whole numbers up to here are exact in a double.
constexpr double kExactMax = 0x1p53;

}  // namespace

absl::StatusOr<int64_t> ParseDurationMs(absl::string_view text) {
  const Quantity quantity = Split(text);
  const Unit* const unit = FindUnit(kDurationUnits, quantity.unit);
  if (unit == nullptr) return Refuse(text, quantity.unit.empty() ? "has no unit" : "is no duration", kDurationHow);
  auto ms = Multiply(text, quantity, unit->size, kExactMax, kDurationHow);
  if (!ms.ok()) return ms.status();
  return static_cast<int64_t>(*ms);
}

std::string FormatDurationMs(int64_t ms) { return ms <= 0 ? "0ms" : InUnits(kDurationUnits, static_cast<uint64_t>(ms)); }

absl::StatusOr<uint64_t> ParseByteSize(absl::string_view text) {
  const Quantity quantity = Split(text);
  const Unit* const unit = FindUnit(kByteUnits, quantity.unit.empty() ? "B" : quantity.unit);
  if (unit == nullptr) return Refuse(text, "is no size", kByteSizeHow);
  return Multiply(text, quantity, unit->size, kExactMax, kByteSizeHow);
}

std::string FormatByteSize(uint64_t bytes) {
  const std::string text = InUnits(kByteUnits, bytes);
  const bool plain = text.size() > 1 && absl::ascii_isdigit(text[text.size() - 2]);
  return plain ? text.substr(0, text.size() - 1) : text;
}

absl::StatusOr<Cadence> ParseCadence(absl::string_view text) {
  const Quantity quantity = Split(text);
  Cadence cadence;
  if (quantity.unit == "step" || quantity.unit == "steps") {
    auto steps = Multiply(text, quantity, 1, kExactMax, kCadenceHow);
    if (!steps.ok()) return steps.status();
    cadence.set_steps(*steps);
  } else if (quantity.unit == "epoch" || quantity.unit == "epochs") {
    double epochs = 0;
    if (!absl::SimpleAtod(quantity.number, &epochs)) return Refuse(text, "does not begin with a number", kCadenceHow);
    if (epochs <= 0 || epochs > kExactMax) return Refuse(text, "must be more than 0", kCadenceHow);
    cadence.set_epochs(epochs);
  } else if (const Unit* const unit = FindUnit(kDurationUnits, quantity.unit); unit != nullptr) {
    auto ms = Multiply(text, quantity, unit->size, kExactMax, kCadenceHow);
    if (!ms.ok()) return ms.status();
    cadence.set_ms(static_cast<int64_t>(*ms));
  } else {
    return Refuse(text, quantity.unit.empty() ? "has no unit" : "is no cadence", kCadenceHow);
  }
  return cadence;
}

std::string FormatCadence(const Cadence& cadence) {
  switch (cadence.every_case()) {
    case Cadence::kSteps: return absl::StrCat(cadence.steps(), cadence.steps() == 1 ? " step" : " steps");
    case Cadence::kMs: return FormatDurationMs(cadence.ms());
    case Cadence::kEpochs: return absl::StrCat(FormatNumber(cadence.epochs()), cadence.epochs() == 1 ? " epoch" : " epochs");
    case Cadence::EVERY_NOT_SET: break;
  }
  return "";
}

std::string FormatNumber(double number) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, number).ptr);
}

}  // namespace tessera
