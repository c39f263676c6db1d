#ifndef SPILLWAY_TRAINING_PASSES
#define SPILLWAY_TRAINING_PASSES

include "mlir/Pass/PassBase.td"

def NNOptimizePass : Pass<"nn-optimize", "::mlir::ModuleOp"> {
  let summary = "Turns gradients into updates of the states";
  let description = [{
    For each result `grad.NAME` of the function, the state of that name is updated by the optimizer, and what the
    optimizer keeps for it becomes a state `NAME.WHAT`, zero at the start. The gradients are no results any more.
    What changes from step to step (learning rate, number of the step) becomes inputs of one f64. The option
    `weight_decay` is for states of two or more dimensions; for others it is zero.

    With the precision bf16 each state of two or more dimensions that trains gets a twin `NAME.bf16`, which holds its
    values rounded and is updated with it: both halves read the twin, the optimizer alone reads the state. The
    module gets the attribute `nn.stored_type` (see nn-narrow-stores).

    Needs: nn-differentiate. Leaves: operations, with `zero.update` at the function's end.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "adamw, adam, sgd, lion, or the path of an .mlir file">,
    ListOption<"settings", "settings", "std::string", "The optimizer's options, NAME=VALUE each">,
    Option<"clip", "clip", "double", "0",
           "Gradients are scaled down so that their norm, over all states, is this at most; 0: they are not">,
    Option<"gradNorm", "grad-norm", "bool", "false",
           "The norm of the gradients, before clipping, becomes a result `grad_norm`">,
    Option<"precision", "precision", "std::string", "\"fp32\"", "fp32 or bf16">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::spillway::nn::NNDialect", "::spillway::zero::ZeroDialect"];
}

#endif
