// An ONNX file as a module of the onnx dialect.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace spillway {

/// On the module: the names of initializers whose values are another model's.
inline constexpr llvm::StringLiteral initializedAttrName = "spillway.initialized";

struct ImportOptions {
  /// NAME=VALUE: the input becomes a constant. VALUE is a number, true or false, which fills
  /// the input's shape, a list of them in brackets, [1, 2], or a file: FILE.npy of NumPy's or FILE.pb,
  /// an onnx.TensorProto. Sizes that the model leaves open are taken from a file, and for inputs of
  /// rank 1 from a list.
  std::vector<std::string> binds;
  /// Inputs that have an initializer, as a default that a caller may override (IR version 4
  /// on), and are to stay inputs. The others become constants, of which a remark tells.
  std::vector<std::string> keepInputs;
  /// All of them stay inputs.
  bool keepAllInputs = false;
  /// Regular expressions (POSIX, extended): of an initializer of floats whose whole name matches one, each node of the
  /// main graph that reads it, but for the first one, gets a copy (see runtime/export/UntiedName.h).
  std::vector<std::string> untie;
  /// Another model: initializers of floats with dimensions have the values of its initializers of the same name and
  /// type. Warnings tell of the others.
  std::string initFrom;
};

/// Reads the model at `path` without the bytes of its initializers: time and memory grow
/// with the graph, not with the weights. Extents of the result name the files they lie in as
/// `path` names the model (its folder, or that of its target where it is a link, joined with the
/// external location). IR versions from 3 on and all opsets are taken; the file is not trusted.
///
/// Null after diagnostics for a file that cannot be read, is damaged, or contradicts
/// itself, or for options that do not fit it. All errors that do not follow from others are reported.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::StringRef path, mlir::MLIRContext &context,
                                             const ImportOptions &options = {});

} // namespace spillway
