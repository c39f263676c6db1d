// The folder that `compile` leaves behind.
#pragma once

#include "runtime/base/FileLock.h"
#include "runtime/bundle/Bundle.h"

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace spillway {

/// A bundle while it is written: a folder beside its final place, put there by commit() in one
/// step and removed where that does not happen. What a process that was killed has left is removed
/// by the next one. As long as it lives, nobody trains a bundle that is in its place, or reads its states.
class BundleWriter {
public:
  /// Diagnoses, at `location`, a place that cannot be written, that holds something
  /// that is no bundle, or a bundle whose states are in use.
  static mlir::FailureOr<BundleWriter> create(std::filesystem::path path, mlir::Location location);
  /// Where this process writes the bundle before it takes the place `path`.
  static std::filesystem::path partialFolder(std::filesystem::path path);
  BundleWriter(BundleWriter &&other);
  ~BundleWriter();

  const std::filesystem::path &folder() const { return folder_; }

  /// Diagnoses a file system without room for what writeStates() writes.
  mlir::LogicalResult requireSpace(mlir::ModuleOp module);
  /// The bytes of every zero.state of `module`, in its layout, in the order of the module; of a
  /// linked one its place. Weights pass through a few buffers, never through memory as a whole.
  mlir::LogicalResult writeStates(mlir::ModuleOp module);
  mlir::LogicalResult writeFile(llvm::StringRef name, llvm::ArrayRef<uint8_t> bytes);
  /// The same bytes as a file of another bundle: a second name of it, or a copy.
  mlir::LogicalResult shareFile(const std::filesystem::path &file);
  /// The same, with bytes of its own for what the bundle changes.
  mlir::LogicalResult copyFile(const std::filesystem::path &file);
  /// The manifest, and the rename to the final place, over a bundle that was there.
  mlir::LogicalResult commit(const Manifest &manifest);

private:
  BundleWriter(std::filesystem::path path, std::filesystem::path folder,
               std::optional<FileLock> lock, mlir::Location location);

  std::filesystem::path path_, folder_;
  /// On the states of the bundle that is in the place.
  std::optional<FileLock> lock_;
  mlir::Location location_;
};

} // namespace spillway
