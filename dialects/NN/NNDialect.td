#ifndef SPILLWAY_NN_DIALECT
#define SPILLWAY_NN_DIALECT

include "mlir/IR/OpBase.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::spillway::nn";
  let summary = "What a model computes, on tensors of static shape";
  let description = [{
    The tensor operations that upstream MLIR lacks and that Spillway
    differentiates, tiles, costs and compiles. Elementwise operations are those of
    `arith` and `math` on tensors; broadcasting is explicit (`nn.broadcast`);
    weights are `zero.use` values.

    A module goes through two forms:

    - **operations**: a `func.func` per model whose body holds `nn`, `arith`,
      `math` and `zero.use` operations;
    - **kernels**: each group of operations that is computed in one go is outlined
      into an `nn.kernel` symbol, and the body of the function holds `nn.call`
      operations only (and what moves no data: `zero.use`, `zero.lookup`,
      constants).

    Element types: `f64 f32 f16 bf16`, `i64 i32 i16 i8 i1`, all signless. Signedness is
    in the operation (`arith.extui`, `arith.divsi`, ...), as everywhere in `arith`. An
    `i1` element takes one byte in memory.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif
