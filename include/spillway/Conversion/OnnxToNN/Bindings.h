// Inputs and outputs that a converted function gets beside the model's own.
#pragma once

#include "spillway/Conversion/OnnxToNN/Passes.h"
#include "spillway/Support/ElementType.h"

namespace spillway {

inline mlir::DictionaryAttr bindingAttributes(mlir::MLIRContext *context, llvm::StringRef bindingName, DataType type) {
  mlir::Builder builder(context);
  return builder.getDictionaryAttr(
      {builder.getNamedAttr(valueNameAttrName, builder.getStringAttr(bindingName)),
       builder.getNamedAttr(valueTypeAttrName, builder.getStringAttr(name(type)))});
}

/// The last input from then on. No other one may have the name.
inline mlir::BlockArgument appendInput(mlir::func::FuncOp function, llvm::StringRef inputName, DataType type,
                                       llvm::ArrayRef<int64_t> shape) {
  mlir::MLIRContext *context = function.getContext();
  auto tensor = mlir::RankedTensorType::get(shape, elementType(context, type));
  if (failed(function.insertArgument(function.getNumArguments(), tensor, bindingAttributes(context, inputName, type),
                                     function.getLoc())))
    llvm_unreachable("an argument is appended");
  return function.getArguments().back();
}

/// The last output from then on. No other one may have the name.
inline void appendOutput(mlir::func::FuncOp function, llvm::StringRef outputName, DataType type, mlir::Value value) {
  mlir::Operation *end = function.getBody().front().getTerminator();
  end->insertOperands(end->getNumOperands(), value);
  if (failed(function.insertResult(function.getNumResults(), value.getType(),
                                   bindingAttributes(function.getContext(), outputName, type))))
    llvm_unreachable("a result is appended");
}

} // namespace spillway
