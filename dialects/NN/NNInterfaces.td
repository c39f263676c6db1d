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

def NN_AnchorOpInterface : OpInterface<"AnchorOpInterface"> {
  let cppNamespace = "::spillway::nn";
  let description = [{
    An operation that sets the loops of the kernel that it is in; a kernel has one at most.
  }];
  let methods = [
    InterfaceMethod<"The schedule of its kernel.", "::spillway::nn::Schedule", "getSchedule", (ins)>,
    InterfaceMethod<[{
      Whether its operands must lie in memory. Those of other anchors can be pulled
      element by element.
    }], "bool", "readsMemory", (ins)>,
    InterfaceMethod<[{
      Whether each element of its result is complete when it is made, so that operations can follow in
      its kernel.
    }], "bool", "takesEpilogue", (ins), "", "return true;">,
  ];
}

#endif
