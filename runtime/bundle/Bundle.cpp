#include "runtime/bundle/Bundle.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/CpuFeatures.h"
#include "runtime/base/File.h"
#include "runtime/comm/Communicator.h"
#include "runtime/state/Store.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

namespace spillway {

namespace {
using Json = nlohmann::json;

constexpr uint64_t maxManifestBytes = 1 << 20;
constexpr uint64_t maxFileBytes = uint64_t(1) << 30;
/// Files of which a bundle has a manifest entry: those that running needs, and others that it
/// may lack.
constexpr std::string_view neededFiles[] = {kernelsName, tableName, storeIndexName};
constexpr std::string_view otherFiles[] = {planName, programName};

std::string printChecksum(std::span<const std::byte> bytes) {
  return fmt::format("{:016x}", checksum(bytes));
}
} // namespace

bool isPartOfBundle(std::string_view name) {
  constexpr std::string_view others[] = {manifestName, storeDataName, commitsName, scratchName};
  auto has = [&](std::span<const std::string_view> names) { return std::ranges::find(names, name) != names.end(); };
  return has(neededFiles) || has(otherFiles) || has(others);
}

Status writeManifest(const std::filesystem::path &folder, const Manifest &manifest) {
  Json files = Json::object();
  auto record = [&](std::string_view name) -> Status {
    SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, readFile(folder / name, maxFileBytes));
    SPILLWAY_RETURN_IF_ERROR(syncFile(folder / name));
    files[std::string(name)] = {{"bytes", bytes.size()}, {"xxh3", printChecksum(bytes)}};
    return {};
  };
  for (std::string_view name : neededFiles)
    SPILLWAY_RETURN_IF_ERROR(record(name));
  std::error_code code;
  for (std::string_view name : otherFiles)
    if (std::filesystem::exists(folder / name, code))
      SPILLWAY_RETURN_IF_ERROR(record(name));
  Json root = {{"format", "spillway bundle"},
               {"version", bundleVersion},
               {"producer", manifest.producer},
               {"model", manifest.model},
               {"initialized", manifest.initialized},
               {"cpu_features", manifest.features},
               {"threads", manifest.threads},
               {"ranks", manifest.ranks},
               {"files", files}};
  // Names that are not UTF-8 are replaced rather than refused.
  std::string text = root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  return writeFileAtomically(folder / manifestName, std::as_bytes(std::span(text)));
}

Status requireOutsideBundles(const std::filesystem::path &file) {
  std::error_code code;
  std::filesystem::path folder = std::filesystem::absolute(file, code).parent_path();
  if (std::filesystem::exists(folder / manifestName, code))
    return userError("'{}' lies in the bundle '{}'; give a place outside of it", file.string(),
                     folder.string());
  return {};
}

Status requireOutput(const std::filesystem::path &file) {
  SPILLWAY_RETURN_IF_ERROR(requireWritable(file));
  SPILLWAY_ASSIGN_OR_RETURN(std::filesystem::path target, replaceableFile(file));
  return requireOutsideBundles(target);
}

Result<uint64_t> committedSteps(const std::filesystem::path &folder) {
  if (std::error_code code; !std::filesystem::exists(folder / commitsName, code))
    return uint64_t(0);
  SPILLWAY_ASSIGN_OR_RETURN(Store store, Store::open(folder));
  return store.lastCommit().step;
}

Result<Bundle> Bundle::open(const std::filesystem::path &folder) {
  std::error_code code;
  std::filesystem::file_status status = std::filesystem::status(folder, code);
  if (!std::filesystem::exists(status))
    return userError("'{}' is no bundle: there is no such folder", folder.string());
  if (!std::filesystem::is_directory(status)) {
    std::string compile;
    if (folder.extension() == ".onnx")
      compile = fmt::format(": compile it first, `spillway compile {} -o {}`", folder.string(),
                            std::filesystem::path(folder).replace_extension(".spill").string());
    return userError("'{}' is no bundle, but a file{}", folder.string(), compile);
  }
  if (!std::filesystem::exists(folder / manifestName, code))
    return userError("'{}' is no bundle: it has no {}", folder.string(), manifestName);
  std::filesystem::path path = folder / manifestName;
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> text, readFile(path, maxManifestBytes));
  auto damaged = [&](std::string_view why) {
    return machineError("'{}' is damaged: {}", path.string(), why);
  };
  auto *characters = reinterpret_cast<const char *>(text.data());
  Json root = Json::parse(characters, characters + text.size(), nullptr, false);
  if (!root.is_object() || root.value("format", Json()) != "spillway bundle")
    return damaged("it is not the manifest of a bundle");
  if (Json version = root.value("version", Json()); version != bundleVersion)
    return userError("'{}' has the bundle version {}; this program reads version {}. Compile the "
                     "model again",
                     folder.string(), version.dump(), bundleVersion);
  Bundle bundle;
  bundle.folder_ = folder;
  bundle.manifestChecksum_ = printChecksum(text);
  // A field that is missing or of another type throws inside the library.
  try {
    bundle.manifest_.producer = root.at("producer").get<std::string>();
    bundle.manifest_.model = root.at("model").get<std::string>();
    bundle.manifest_.initialized = root.at("initialized").get<std::vector<std::string>>();
    bundle.manifest_.features = root.at("cpu_features").get<std::vector<std::string>>();
    bundle.manifest_.threads = root.at("threads").get<uint32_t>();
    bundle.manifest_.ranks = root.at("ranks").get<uint32_t>();
    if (bundle.manifest_.ranks == 0 || bundle.manifest_.ranks > maxRanks)
      return damaged(fmt::format("it is for {} ranks", bundle.manifest_.ranks));
    for (const auto &[name, file] : root.at("files").items()) {
      if (!isPlainName(name))
        return damaged(fmt::format("it lists '{}', which is no name inside the bundle", name));
      bundle.recorded_[name] = {file.at("bytes").get<uint64_t>(),
                                file.at("xxh3").get<std::string>()};
    }
  } catch (const Json::exception &exception) {
    return damaged(exception.what());
  }
  if (Result<std::vector<std::byte>> kernels = bundle.read(kernelsName); !kernels.ok())
    return std::move(kernels).error();
  SPILLWAY_ASSIGN_OR_RETURN(bundle.table_, bundle.read(tableName));
  SPILLWAY_ASSIGN_OR_RETURN(bundle.storeIndex_, bundle.read(storeIndexName));
  return bundle;
}

Status Bundle::requireProcessor() const {
  std::vector<std::string> missing = missingFeatures(manifest_.features);
  if (missing.empty())
    return {};
  return userError("'{}' needs a processor with {}; this one lacks {}. Compile the model for this "
                   "processor",
                   folder_.string(), fmt::join(manifest_.features, ", "), fmt::join(missing, ", "));
}

Result<std::vector<std::byte>> Bundle::read(std::string_view name) const {
  auto recorded = recorded_.find(name);
  if (recorded == recorded_.end())
    return machineError("'{}' is damaged: its manifest does not list {}", folder_.string(), name);
  std::filesystem::path path = folder_ / name;
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, readFile(path, maxFileBytes));
  const auto &[size, wanted] = recorded->second;
  if (bytes.size() != size)
    return machineError("'{}' is damaged: it has {} bytes; expected {}", path.string(),
                        bytes.size(), size);
  if (std::string sum = printChecksum(bytes); sum != wanted)
    return machineError("'{}' is damaged: its checksum is {}; expected {}", path.string(), sum,
                        wanted);
  return bytes;
}

Status Bundle::requireUnchanged() const {
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> text, readFile(folder_ / manifestName, maxManifestBytes));
  if (printChecksum(text) == manifestChecksum_)
    return {};
  return userError("'{}' was replaced while it was being opened: run the command again", folder_.string());
}

Status Bundle::verify() const {
  for (const auto &[name, recorded] : recorded_)
    if (Result<std::vector<std::byte>> bytes = read(name); !bytes.ok())
      return std::move(bytes).error();
  return {};
}

} // namespace spillway
