#ifndef SPILLWAY_DIFFERENTIATE_INTERFACES
#define SPILLWAY_DIFFERENTIATE_INTERFACES

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::spillway";
  let description = [{
    The reverse derivative of an operation of tensors. Operations of `nn`, `arith` and `math` carry it as
    external models (lib/Differentiate/Rules).

    A rule builds from operands and results of the operation, where they stand; which values the
    backward half needs from the forward half is then what it uses.
  }];
  let methods = [
    InterfaceMethod<[{
      Adds to the cotangents of the operands what those of the results give. Where the derivative is zero
      everywhere it adds nothing.
    }], "void", "addCotangents", (ins "::spillway::Cotangents &":$cotangents)>,
  ];
}

#endif
