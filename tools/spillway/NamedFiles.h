// Files that the command line names.
#pragma once

#include "runtime/executor/Program.h"

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spillway {

/// Files by tensor name, from NAME=FILE. A name may hold '=': the longest one that
/// is known wins, else the part before the first '='. A user error names `flag` and, for a name
/// that is none of `known`, the `kind` of tensor.
Result<std::map<std::string, std::filesystem::path>>
parseNamedFiles(std::span<const std::string> texts, std::string_view flag, std::string_view kind,
                const std::vector<Binding> &known);

/// A user error where an output cannot be written to `file`: no regular file is there, or it lies in a
/// bundle.
Status requireReplaceable(const std::filesystem::path &file);

} // namespace spillway
