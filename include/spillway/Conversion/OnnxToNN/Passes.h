// Conversion of the onnx dialect to nn.
#pragma once

#include "dialects/NN/NN.h"
#include "dialects/Zero/Zero.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace spillway {

#define GEN_PASS_DECL
#include "spillway/Conversion/OnnxToNN/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "spillway/Conversion/OnnxToNN/Passes.h.inc"

/// Attributes of arguments and results of the converted function: the ONNX name, and
/// the element type by its name in runtime/base/DataType.h.
inline constexpr llvm::StringLiteral valueNameAttrName = "spillway.name";
inline constexpr llvm::StringLiteral valueTypeAttrName = "spillway.type";
/// On an argument that holds classes, three integers: how many there are, what is no class and may be there, and the first
/// place of dimension 1 that must be one of these. Empty where several losses say different things.
inline constexpr llvm::StringLiteral classesAttrName = "spillway.classes";
/// On arguments of a function whose conversion failed: an operator had to know their values.
inline constexpr llvm::StringLiteral mustBeKnownAttrName = "spillway.must_be_known";

/// The operators that convert, as a page of markdown.
void printOperators(llvm::raw_ostream &os);

} // namespace spillway
