#ifndef SPILLWAY_CONVERSION_ZEROTORT_PASSES
#define SPILLWAY_CONVERSION_ZEROTORT_PASSES

include "mlir/Pass/PassBase.td"

def ConvertZeroToRtPass : Pass<"convert-zero-to-rt", "::mlir::ModuleOp"> {
  let summary = "Gives everything an address, and each operation a stream";
  let description = [{
    The function `main` becomes an `rt.program`. An arena holds, one after another: the tiles at home in
    its tier; where kernels compute, also what the step computes, with scratch and
    look-up staging; and the staging that streamed tiles pass through. A rank's part is brought to its own
    place in the gathered tile, and gathered there. Values that wait on the drive have places in an arena of NVMe, and
    share them where they do not wait at the same time. States and kernels
    stay as symbols (bodies of kernels are not looked at).

    Needs: the scheduled form of zero, `zero.arenas`. Leaves: `rt.program`, whose verifier proves it.
  }];
  let options = [
    Option<"threads", "threads", "int64_t", "1", "Threads that run a kernel">,
    Option<"ranks", "ranks", "int64_t", "1", "Ranks that share partitioned states">,
  ];
  let dependentDialects = ["::spillway::rt::RtDialect"];
}

#endif
