#include "tools/spillway/NamedFiles.h"
#include "runtime/base/File.h"
#include "runtime/base/Nearest.h"
#include "runtime/bundle/Bundle.h"

#include <algorithm>
#include <set>

namespace spillway {

Result<NamedFiles>
parseNamedFiles(std::span<const std::string> texts, std::string_view flag, std::string_view kind,
                const std::vector<Binding> &known) {
  std::vector<std::string> names;
  for (const Binding &binding : known)
    names.push_back(binding.name);
  std::map<std::string, std::filesystem::path> files;
  for (const std::string &text : texts) {
    size_t split = text.find('=');
    for (const std::string &name : names)
      if (text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=')
        split = std::max(split == std::string::npos ? 0 : split, name.size());
    if (split == std::string::npos || split == 0 || split + 1 == text.size())
      return userError("--{} '{}': expected NAME=FILE", flag, text);
    std::string name = text.substr(0, split);
    if (std::ranges::find(names, name) == names.end())
      return userError("the model has no {} '{}'{}; it has {}", kind, name, didYouMean(name, names),
                       fmt::join(names, ", "));
    if (!files.emplace(name, text.substr(split + 1)).second)
      return userError("--{} names '{}' twice", flag, name);
  }
  return files;
}

Status requireOutputs(const std::vector<std::filesystem::path> &files,
                      const std::vector<std::filesystem::path> &read) {
  auto whole = [](const std::filesystem::path &file) {
    std::error_code code;
    return std::filesystem::weakly_canonical(std::filesystem::absolute(file, code), code);
  };
  std::set<std::filesystem::path> inUse;
  for (const std::filesystem::path &file : read)
    inUse.insert(whole(file));
  for (const std::filesystem::path &file : files) {
    if (file.empty())
      continue;
    SPILLWAY_RETURN_IF_ERROR(requireOutput(file));
    if (!inUse.insert(whole(file)).second)
      return userError("'{}' is named twice, or also read; give another name", file.string());
  }
  return {};
}

} // namespace spillway
