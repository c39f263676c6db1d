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

/// By tensor name.
using NamedFiles = std::map<std::string, std::filesystem::path>;

/// Files from NAME=FILE. A name may hold '=': the longest one that
/// is known wins, else the part before the first '='. A user error names `flag` and, for a name
/// that is none of `known`, the `kind` of tensor.
Result<NamedFiles>
parseNamedFiles(std::span<const std::string> texts, std::string_view flag, std::string_view kind,
                const std::vector<Binding> &known);

/// A user error where one of a command's outputs cannot be written (see requireOutput), is named twice, or is one of the
/// files that it reads; an empty name is none.
Status requireOutputs(const std::vector<std::filesystem::path> &files,
                      const std::vector<std::filesystem::path> &read = {});

} // namespace spillway
