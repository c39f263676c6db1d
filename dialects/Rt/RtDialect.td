#ifndef SPILLWAY_RT_DIALECT
#define SPILLWAY_RT_DIALECT

include "mlir/IR/OpBase.td"

def Rt_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::spillway::rt";
  let summary = "When a step does what, and at which address";
  let description = [{
    A program is arenas (one a tier), buffers at fixed places in them, and commands on
    streams; it is the step table (runtime/table/table.fbs) as MLIR, one op a command.

    ```mlir
    rt.program @main ranks(1) threads(2) {
      rt.arena host 147456
      %x = rt.buffer "x" host[0, 2048]
      %y = rt.buffer "y" host[2048, 2048]
      %w = rt.buffer "w" host[4096, 65536]
      rt.input "x" %x "f32" [8, 64]
      rt.output "y" %y "f32" [8, 64]
      rt.prologue {
      }
      rt.step {
        %0 = rt.read @w[0] into %w
        %1 = rt.launch @gemm(%x, %w, %y) units [0, 4] after(%0)
      }
    }
    ```

    Commands of one stream start in the order in which they stand. Compute, the copy
    streams and communicate run one command at a time; read and write keep many in
    flight. `after` says what must have ended before. The prologue ends before the first
    step starts, a step before the next but for what `rt.carry` names.

    The verifier of the program proves that every two commands of which one writes what
    the other touches are ordered by streams and events, and that nothing is read before
    it was written.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::spillway::zero::ZeroDialect"];
}

#endif
