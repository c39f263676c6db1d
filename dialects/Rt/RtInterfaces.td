#ifndef SPILLWAY_RT_INTERFACES
#define SPILLWAY_RT_INTERFACES

include "mlir/IR/OpBase.td"

def Rt_CommandOpInterface : OpInterface<"CommandOpInterface"> {
  let cppNamespace = "::spillway::rt";
  let description = [{
    A command: what it runs on, what it waits for, and which bytes it touches.
  }];
  let methods = [
    InterfaceMethod<"The stream that it runs on.", "::spillway::rt::Stream", "getCommandStream", (ins)>,
    InterfaceMethod<"The events that it waits for.", "::mlir::OperandRange", "getAfter", (ins)>,
    InterfaceMethod<"The same, to change them.", "::mlir::MutableOperandRange", "getAfterMutable", (ins)>,
    InterfaceMethod<"ONNX node or state that it serves; null where unknown.", "::mlir::StringAttr",
                    "getLabelAttr", (ins)>,
    InterfaceMethod<[{
      Calls `visit` with each buffer that it touches and whether it writes it.
    }], "void", "visitAccesses", (ins "::llvm::function_ref<void(::mlir::Value, bool)>":$visit)>,
  ];
}

#endif
