#ifndef SPILLWAY_RT_TYPES
#define SPILLWAY_RT_TYPES

include "dialects/Rt/RtDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

// Numbers are those of runtime/table/table.fbs.
def Rt_Stream : I32EnumAttr<"Stream", "A queue of commands that start in order", [
  I32EnumAttrCase<"compute", 0>,
  I32EnumAttrCase<"read", 1>,
  I32EnumAttrCase<"write", 2>,
  I32EnumAttrCase<"copy_up", 3>,
  I32EnumAttrCase<"copy_down", 4>,
  I32EnumAttrCase<"communicate", 5>,
]> {
  let cppNamespace = "::spillway::rt";
  let genSpecializedAttr = 0;
}
def Rt_StreamAttr : EnumAttr<Rt_Dialect, Rt_Stream, "stream"> {
  let assemblyFormat = "$value";
}

def Rt_BufferType : TypeDef<Rt_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "Bytes at a fixed place of an arena";
}
def Rt_EventType : TypeDef<Rt_Dialect, "Event"> {
  let mnemonic = "event";
  let summary = "The end of a command";
}
def Rt_Buffer : Type<CPred<"::llvm::isa<::spillway::rt::BufferType>($_self)">, "a buffer">,
                BuildableType<"::spillway::rt::BufferType::get($_builder.getContext())">;
def Rt_Event : Type<CPred<"::llvm::isa<::spillway::rt::EventType>($_self)">, "an event">,
               BuildableType<"::spillway::rt::EventType::get($_builder.getContext())">;

#endif
