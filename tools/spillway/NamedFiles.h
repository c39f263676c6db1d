// Files that the command line names.
#pragma once

#include "runtime/executor/Program.h"

#include <filesystem>
#include <initializer_list>
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

/// A user error where one of a command's outputs cannot be written (see requireOutput); an empty name
/// is none.
Status requireOutputs(std::initializer_list<std::filesystem::path> files);

} // namespace spillway
