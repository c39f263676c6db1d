#ifndef SPILLWAY_ELEMENT_INTERFACE
#define SPILLWAY_ELEMENT_INTERFACE

include "mlir/IR/OpBase.td"

def ElementOpInterface : OpInterface<"ElementOpInterface"> {
  let cppNamespace = "::spillway::kernels";
  let description = [{
    An operation each of whose result elements follows from few elements of its
    operands at an index that the operation knows how to compute. Elementwise
    operations do not need it.
  }];
  let methods = [
    InterfaceMethod<[{
      The elements of the only result at `index`, one per lane; a scalar where they are all the
      same. Operands are pulled from the emitter.
    }], "::mlir::Value", "pullElement",
      (ins "::spillway::kernels::ElementEmitter &":$emitter,
           "::llvm::ArrayRef<::spillway::kernels::LaneIndex>":$index)>,
  ];
}

#endif
