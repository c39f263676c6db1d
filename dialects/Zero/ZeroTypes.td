#ifndef SPILLWAY_ZERO_TYPES
#define SPILLWAY_ZERO_TYPES

include "dialects/Zero/ZeroAttrs.td"

def Zero_HandleType : TypeDef<Zero_Dialect, "Handle"> {
  let mnemonic = "handle";
  let summary = "Bytes of a state, of a tile of one, or of an offloaded value, that are held in a tier until released";
  let parameters = (ins "::mlir::RankedTensorType":$tensor,
                        EnumParameter<Zero_Tier>:$tier);
  let assemblyFormat = "`<` $tensor `,` $tier `>`";
}

#endif
