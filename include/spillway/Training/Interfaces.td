#ifndef SPILLWAY_TRAINING_INTERFACES
#define SPILLWAY_TRAINING_INTERFACES

include "mlir/IR/OpBase.td"

def StackableOpInterface : OpInterface<"StackableOpInterface"> {
  let cppNamespace = "::spillway";
  let description = [{
    An operation of tensors that several micro-batches can run as one. Operations of `nn` and `zero` carry it as
    external models (lib/Training/StackRules.cpp); elementwise operations need no rule.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the result for all micro-batches, stacked. At least one operand is stacked. Null where the operation
      has no such form for these operands: it then runs for one micro-batch after the other.
    }], "::mlir::Value", "stack", (ins "::llvm::ArrayRef<::spillway::Stacked>":$operands,
                                       "::spillway::StackBuilder &":$builder)>,
  ];
}

#endif
