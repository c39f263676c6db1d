// The nn dialect: what a model computes. See NNDialect.td.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/NN/NNDialect.h.inc"
#include "dialects/NN/NNEnums.h.inc"
#include "dialects/NN/NNInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/NN/NNAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/NN/NNOps.h.inc"

namespace spillway::nn {

/// Argument and result attributes of nn.kernel.
inline constexpr llvm::StringLiteral layoutAttrName = "nn.layout";
inline constexpr llvm::StringLiteral rowsAttrName = "nn.rows";
inline constexpr llvm::StringLiteral tiledAttrName = "nn.tiled";
inline constexpr llvm::StringLiteral depthTiledAttrName = "nn.depth_tiled";
inline constexpr llvm::StringLiteral overAttrName = "nn.over";

/// On a module: the float type, narrower than f32, in which values of a step that trains lie in memory.
inline constexpr llvm::StringLiteral storedTypeAttrName = "nn.stored_type";

/// Bytes of one element in memory (an i1 takes one).
int64_t elementBytes(mlir::Type type);
/// Bytes of a tensor in row-major order.
int64_t tensorBytes(mlir::RankedTensorType type);
/// Elements that share an index along `dim` (all of a tensor of rank 0).
int64_t panelDepth(mlir::RankedTensorType type, int64_t dim);

/// The kernel's `cost`, computed from its body where it has none.
CostAttr costOf(KernelOp kernel);

/// Patterns by which products read operands that are widened to f32 as they are stored, and movements move them so.
void populateNarrowReads(mlir::RewritePatternSet &patterns);

/// Gives the operations of arith and math the interfaces of nn.
void registerExternalModels(mlir::DialectRegistry &registry);

} // namespace spillway::nn
