// Two macros for absl::Status, the only macros of the project.
#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define TESSERA_RETURN_IF_ERROR(expression)                                   \
  do {                                                                        \
    if (absl::Status tessera_status = (expression); !tessera_status.ok()) {   \
      return tessera_status;                                                  \
    }                                                                         \
  } while (false)

#define TESSERA_CONCAT_INNER(a, b) a##b
#define TESSERA_CONCAT(a, b) TESSERA_CONCAT_INNER(a, b)
#define TESSERA_ASSIGN_OR_RETURN(declaration, expression) \
  TESSERA_ASSIGN_OR_RETURN_INNER(TESSERA_CONCAT(tessera_or_, __LINE__), declaration, expression)
#define TESSERA_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                           \
  if (!result.ok()) return std::move(result).status();                  \
  declaration = *std::move(result)
