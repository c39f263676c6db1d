// The onnx dialect: a file as it is. See OnnxDialect.td.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/Onnx/OnnxDialect.h.inc"
#include "dialects/Onnx/OnnxEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Onnx/OnnxAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Onnx/OnnxTypes.h.inc"
#define GET_OP_CLASSES
#include "dialects/Onnx/OnnxOps.h.inc"

namespace spillway::onnx {

/// Attribute of the module: the file's IR version.
inline constexpr llvm::StringLiteral irVersionAttrName = "onnx.ir_version";

} // namespace spillway::onnx
