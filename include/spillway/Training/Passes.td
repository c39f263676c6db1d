#ifndef SPILLWAY_TRAINING_PASSES
#define SPILLWAY_TRAINING_PASSES

include "mlir/Pass/PassBase.td"

def NNAddLossPass : Pass<"nn-add-loss", "::mlir::func::FuncOp"> {
  let summary = "Adds a loss of ours";
  let description = [{
    The sum of `losses` becomes the function's last result, `loss`, in place of one of that name. Each is the name of a
    result of one float, or KIND(OUTPUT, LABELS, OPTION=VALUE, ...), the mean over the elements or labels that
    count, times the option `weight`. LABELS, `labels` where it is not said, is the function's argument of that name, or a
    new one. They are computed in f32 (f64 for f64).

    | kind | labels | is | options |
    | --- | --- | --- | --- |
    | `cross_entropy` | a class for each element of the other dimensions, i64 | -log(softmax(x)) of the class | `dim` (-1): along which classes lie; `ignore_index` (-100): labels that do not count; `label_smoothing` (0); `shift` (0): an element is compared with the label so many places further on along dimension 1 of the labels |
    | `nll` | the same | -x of the class | `dim`, `ignore_index`, `shift` |
    | `mse`, `l1` | of the output's shape | (x - y)^2, abs(x - y) | |
    | `huber`, `smooth_l1` | of the output's shape | as PyTorch's | `delta` (1), `beta` (1) |
    | `bce_with_logits` | of the output's shape | binary cross-entropy of sigmoid(x) | `pos_weight` (1) |

    A label that names no class is an index out of range.

    Needs: operations, not differentiated. Leaves: operations.
  }];
  let options = [
    ListOption<"losses", "losses", "std::string", "Outputs of one float, or KIND(OUTPUT, LABELS, OPTION=VALUE, ...)">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::spillway::nn::NNDialect"];
}

def NNAccumulatePass : Pass<"nn-accumulate", "::mlir::ModuleOp"> {
  let summary = "Makes a step of several micro-batches";
  let description = [{
    Inputs take the samples of `count` micro-batches along dimension 0. Each operation runs for all of them at once,
    along a new dimension 0 of its tensors, or for one after the other where it has no such form. So a weight is used
    once for all, and its gradient, once differentiated, is one product over the samples of all. A result of one
    float, as the loss, becomes the mean of those of the micro-batches; other results hold them one after another.
    States that the function updates go from micro-batch to micro-batch.

    Needs: operations, not differentiated. Leaves: operations.
  }];
  let options = [Option<"count", "count", "int64_t", "1", "Micro-batches of a step">];
  let dependentDialects = ["::spillway::nn::NNDialect", "::spillway::zero::ZeroDialect"];
}

def NNOptimizePass : Pass<"nn-optimize", "::mlir::ModuleOp"> {
  let summary = "Turns gradients into updates of the states";
  let description = [{
    For each result `grad.NAME` of the function, the state of that name is updated by the optimizer, and what the
    optimizer keeps for it becomes a state `NAME.WHAT`, zero at the start. The gradients are no results any more.
    What changes from step to step (learning rate, number of the step) becomes inputs of one f64. The option
    `weight_decay` is for states of two or more dimensions; for others it is zero.

    With the precision bf16 (fp16) each state of two or more dimensions that trains gets a twin `NAME.bf16` (`NAME.fp16`), which
    holds its values rounded and is updated with it: both halves read the twin, the optimizer alone reads the state. The
    module gets the attribute `nn.stored_type` (see nn-narrow-stores).

    Where gradients are of the loss times `loss_scale` (see nn-differentiate), they are divided by it. Where their norm is
    not finite, all states keep their values, and a result `overflow`, of one boolean, is true.

    Needs: nn-differentiate. Leaves: operations, with `zero.update` at the function's end.
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "\"adamw\"",
           "adamw, adam, sgd, lion, or the path of an .mlir file">,
    ListOption<"settings", "settings", "std::string", "The optimizer's options, NAME=VALUE each">,
    Option<"clip", "clip", "double", "0",
           "Gradients are scaled down so that their norm, over all states, is this at most; 0: they are not">,
    Option<"gradNorm", "grad-norm", "bool", "false",
           "The norm of the gradients, before clipping, becomes a result `grad_norm`; where they are clipped it does anyway">,
    Option<"precision", "precision", "std::string", "\"fp32\"", "fp32, bf16 or fp16">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::spillway::nn::NNDialect", "::spillway::zero::ZeroDialect"];
}

def NNReportCopiesPass : Pass<"nn-report-copies", "::mlir::ModuleOp"> {
  let summary = "Warns of matrices that train apart though they begin with the same values";
  let description = [{
    Equal, or one the transpose of the other, as 64 elements of each tell: a weight that the model ties, and its exporter
    has copied. Matrices of equal elements are left out.

    Needs: nn-optimize.
  }];
}

#endif
