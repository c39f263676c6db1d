// Tensors of a file as places in files, small ones as values.
#pragma once

#include "lib/Import/Messages.h"

#include "dialects/Onnx/Onnx.h"

#include <filesystem>

namespace spillway::onnx {

/// Tensors of at most so many bytes become attributes.
inline constexpr uint64_t maxInlineBytes = 1024;
/// The same for tensors that the file scatters or leaves sparse, which have no extent.
inline constexpr uint64_t maxGatheredBytes = 1 << 20;

/// The file that is being read.
struct SourceFile {
  std::filesystem::path path;
  Bytes bytes;
};

struct ImportedTensor {
  mlir::RankedTensorType type;
  /// Elements or an ExtentAttr.
  mlir::Attribute value;
};

/// MLIR's type for an onnx.TensorProto.DataType; null for one that has none
/// (complex numbers, unknown).
mlir::Type elementType(int32_t dataType, mlir::MLIRContext *context);

/// The element type as the ONNX text spells it, for diagnostics.
std::string dataTypeName(int32_t dataType);

/// Elements from their bytes as raw data holds them, which are as many as `type` takes.
mlir::DenseElementsAttr denseFromRaw(mlir::RankedTensorType type, Bytes raw);

/// Strings, row-major.
ImportedTensor stringTensor(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<llvm::StringRef> strings,
                            mlir::MLIRContext *context);

/// Diagnoses, at `location`, sizes that do not fit, external files that are missing, too
/// short or outside of the model's folder, and types without elements of ours.
mlir::FailureOr<ImportedTensor> importTensor(const TensorMessage &tensor, const SourceFile &file,
                                             mlir::Location location);

/// A sparse tensor made dense, up to maxGatheredBytes.
mlir::FailureOr<ImportedTensor> importSparseTensor(const SparseTensorMessage &tensor,
                                                   const SourceFile &file, mlir::Location location);

} // namespace spillway::onnx
