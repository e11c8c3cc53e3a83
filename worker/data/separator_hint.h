// Messages for a row that does not have the fields it should have, with a guess at the cause.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// How a separator is written in messages: TAB, or ',' in quotes.
std::string SeparatorName(char separator);

// "; is the file comma separated?" if the line, cut at another usual separator, has `wanted` fields, or, where it has but one field, many.
// wanted = 0: not known. "" without such a guess.
std::string SeparatorHint(std::string_view line, char separator, size_t found, size_t wanted);

// "1 field, expected 40 (separator TAB)", with the hint.
std::string FieldCountError(std::string_view line, char separator, size_t found, size_t wanted);
// What follows FieldCountError where a file's first row tells whether its rows have a label, and this row tells otherwise; else "".
std::string LikeFirstRow(size_t found, size_t wanted, bool without_label);
// FieldCountError for Criteo's layout, which may also lack its first column.
std::string CriteoFieldCountError(std::string_view line, size_t found, size_t wanted);

}  // namespace tessera
