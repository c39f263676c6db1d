#ifndef SPILLWAY_NN_INTERFACES
#define SPILLWAY_NN_INTERFACES

include "mlir/IR/OpBase.td"

def NN_CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::spillway::nn";
  let description = [{
    What an operation costs, from its static shapes alone. Passes and the planner
    ask this interface and never switch over operation names. Operations of
    `arith` and `math` carry it as external models.
  }];
  let methods = [
    InterfaceMethod<[{
      Floating-point operations of one execution; a fused multiply-add counts 2, an
      elementary function counts what its polynomial takes.
    }], "double", "getFlops", (ins)>,
  ];
}

#endif
