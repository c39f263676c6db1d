#include "spillway/Target/Bundle/BundleWriter.h"

#include "dialects/Zero/Linked.h"
#include "spillway/StateSource/StateSource.h"
#include "spillway/Support/ElementType.h"
#include "spillway/Support/Errors.h"

#include "runtime/base/File.h"
#include "runtime/device/KernelAbi.h"
#include "runtime/io/Engine.h"
#include "runtime/state/Store.h"
#include "runtime/state/StoreWriter.h"

#include "mlir/IR/Diagnostics.h"

#include <algorithm>
#include <csignal>
#include <unistd.h>

using namespace mlir;
using namespace spillway;

namespace {

LogicalResult diagnose(Location location, const Status &status) {
  if (status.ok())
    return success();
  return spillway::emitError(location, status.error());
}

/// Whether all bits of a value are zero.
bool isZero(Attribute value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValue().isPosZero();
  return cast<IntegerAttr>(value).getValue().isZero();
}

NewState newState(zero::StateOp state) {
  RankedTensorType type = state.getTensorType();
  NewState result;
  result.type.name = state.getName().str();
  zero::Role role = state.getRole();
  result.type.role = role == zero::Role::moment || role == zero::Role::twin ? spillway::Role::companion
                                                                             : spillway::Role::initializer;
  result.type.dataType = *dataTypeOf(type.getElementType());
  result.type.shape.assign(type.getShape().begin(), type.getShape().end());
  if (auto layout = state.getLayoutAttr()) {
    result.type.layout = Layout::panels;
    result.type.panelDim = layout.getDim();
    result.type.panelWidth = layout.getWidth();
  }
  if (zero::isLinked(state)) {
    auto file = cast<zero::FileAttr>(state.getSource());
    result.link = {file.getPath().str(), file.getOffset()};
    return result;
  }
  result.rewritten = state.getRewritten();
  auto splat = dyn_cast<zero::SplatAttr>(state.getSource());
  result.zero = splat && isZero(splat.getValue());
  if (state.getChunkUnits() < state.getUnitCount())
    result.chunkBytes = state.getChunkUnits() * state.getUnitBytes();
  return result;
}

/// Ends the name of a bundle that is being written, with the number of the process.
constexpr const char *partialSuffix = ".partial-";

/// Removes what processes that are gone have left beside the bundle `path`.
void removeAbandoned(const std::filesystem::path &path) {
  std::string prefix = path.filename().string() + partialSuffix;
  std::error_code code;
  std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  std::vector<std::filesystem::path> abandoned;
  for (const auto &entry : std::filesystem::directory_iterator(parent, code)) {
    std::string name = entry.path().filename().string();
    pid_t process = 0;
    if (StringRef(name).starts_with(prefix) &&
        !StringRef(name).drop_front(prefix.size()).getAsInteger(10, process) && process > 0 &&
        ::kill(process, 0) != 0 && errno == ESRCH)
      abandoned.push_back(entry.path());
  }
  for (const std::filesystem::path &folder : abandoned)
    std::filesystem::remove_all(folder, code);
}

/// The name of something in the folder of a bundle that belongs to the user; empty where there is
/// nothing.
std::string foreignEntry(const std::filesystem::path &bundle) {
  std::error_code code;
  for (const auto &entry : std::filesystem::directory_iterator(bundle, code))
    if (std::string name = entry.path().filename().string(); !isPartOfBundle(name))
      return name;
  return "";
}

} // namespace

/// Where a bundle at `path` lies: what a link leads to is replaced, on its own drive, and the link stays.
static std::filesystem::path placeOf(std::filesystem::path path) {
  if (!path.has_filename())
    path = path.parent_path();
  std::error_code code;
  if (std::filesystem::is_symlink(path, code))
    if (std::filesystem::path target = std::filesystem::canonical(path, code); !code)
      path = target;
  return path;
}

FailureOr<BundleWriter> BundleWriter::create(std::filesystem::path path, Location location) {
  path = placeOf(std::move(path));
  std::error_code code;
  if (std::filesystem::exists(path, code) && !std::filesystem::exists(path / manifestName, code))
    return emitError(location) << "'" << path.string() << "' exists and is no bundle; it is not replaced";
  if (Status status = requireOutsideBundles(path); !status.ok())
    return diagnose(location, status);
  if (std::string foreign = foreignEntry(path); !foreign.empty())
    return emitError(location) << "'" << path.string() << "' holds '" << foreign
                               << "', which is no part of a bundle; it is not replaced";
  Result<std::optional<FileLock>> lock = lockStates(path, FileLock::exclusive);
  if (!lock.ok())
    return diagnose(location, lock.error());
  removeAbandoned(path);
  std::filesystem::path folder = partialFolder(path);
  std::filesystem::remove_all(folder, code);
  if (!std::filesystem::create_directory(folder, code))
    return emitMachineError(location, "create '" + folder.string() + "'", code);
  return BundleWriter(path, folder, std::move(*lock), location);
}

std::filesystem::path BundleWriter::partialFolder(std::filesystem::path path) {
  path = placeOf(std::move(path));
  path += partialSuffix + std::to_string(::getpid());
  return path;
}

BundleWriter::BundleWriter(std::filesystem::path path, std::filesystem::path folder,
                           std::optional<FileLock> lock, Location location)
    : path_(std::move(path)), folder_(std::move(folder)), lock_(std::move(lock)),
      location_(location) {}

BundleWriter::BundleWriter(BundleWriter &&other)
    : path_(std::move(other.path_)), folder_(std::exchange(other.folder_, {})),
      lock_(std::move(other.lock_)), location_(other.location_) {}

BundleWriter::~BundleWriter() {
  std::error_code ignored;
  if (!folder_.empty())
    std::filesystem::remove_all(folder_, ignored);
}

LogicalResult BundleWriter::requireSpace(ModuleOp module) {
  uint64_t bytes = 0;
  for (auto state : module.getOps<zero::StateOp>())
    if (!zero::isLinked(state))
      bytes += (state.getRewritten() ? 2 : 1) * roundUpToBlock(static_cast<uint64_t>(state.getStoredBytes()));
  return diagnose(location_, spillway::requireSpace(folder_, bytes, "the states of a bundle"));
}

LogicalResult BundleWriter::writeStates(ModuleOp module) {
  SmallVector<zero::StateOp> states(module.getOps<zero::StateOp>());
  std::vector<NewState> descriptions;
  for (zero::StateOp state : states)
    descriptions.push_back(newState(state));

  std::unique_ptr<StateSource> source;
  std::optional<size_t> open;
  ReadCanonical read = [&](size_t index, uint64_t offset, std::span<std::byte> target) -> Status {
    if (open != index) {
      FailureOr<std::unique_ptr<StateSource>> opened = StateSource::open(states[index]);
      if (failed(opened))
        return machineError("state '{}' cannot be read", states[index].getName().str());
      source = std::move(*opened);
      open = index;
    }
    char *bytes = reinterpret_cast<char *>(target.data());
    if (failed(source->read(offset, {bytes, target.size()})))
      return machineError("state '{}' cannot be read", states[index].getName().str());
    return {};
  };
  Result<std::unique_ptr<io::Engine>> engine = io::makeEngine(io::EngineKind::automatic);
  if (!engine.ok())
    return diagnose(location_, engine.error());
  return diagnose(location_, writeStore(folder_, **engine, descriptions, read));
}

LogicalResult BundleWriter::writeFile(StringRef name, ArrayRef<uint8_t> bytes) {
  return diagnose(location_, writeFileAtomically(folder_ / name.str(),
                                                 std::as_bytes(std::span(bytes.data(), bytes.size()))));
}

LogicalResult BundleWriter::shareFile(const std::filesystem::path &file) {
  std::error_code code;
  std::filesystem::path target = folder_ / file.filename();
  std::filesystem::create_hard_link(file, target, code);
  if (code) {
    code.clear();
    std::filesystem::copy_file(file, target, code);
    if (code)
      return emitMachineError(location_, "copy '" + file.string() + "'", code);
    return diagnose(location_, syncFile(target));
  }
  return success();
}

LogicalResult BundleWriter::copyFile(const std::filesystem::path &file) {
  return diagnose(location_, spillway::copyFile(file, folder_ / file.filename()));
}

LogicalResult BundleWriter::commit(const Manifest &manifest) {
  if (failed(diagnose(location_, writeManifest(folder_, manifest))))
    return failure();
  if (failed(diagnose(location_, replaceFolder(folder_, path_))))
    return failure();
  folder_.clear();
  return success();
}
