#ifndef SPILLWAY_DIFFERENTIATE_PASSES
#define SPILLWAY_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def NNDifferentiatePass : Pass<"nn-differentiate", "::mlir::ModuleOp"> {
  let summary = "Adds the gradient of a scalar output with respect to the states that train";
  let description = [{
    The function gains a result `grad.NAME` for each parameter of floats that the loss depends on, in the
    order of the states, after its own results. A state of which only rows are looked up has a dense gradient too.

    Needs: operations, a loss of one element that the function returns. Leaves: operations.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
           "Name of the output that is differentiated; may be empty where there is one of one element">,
    Option<"onlyLoss", "only-loss", "bool", "false", "Other results that the function had are dropped">,
    ListOption<"freeze", "freeze", "std::string",
               "Regular expressions (POSIX, extended): a parameter whose whole name matches one does not train">,
    ListOption<"padding", "padding", "std::string",
               "NAME=ROW: look-ups of this row of the parameter give no gradient, as PyTorch's padding_idx, "
               "which exported files do not hold">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::spillway::nn::NNDialect"];
}

#endif
