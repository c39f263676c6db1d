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
    Option<"scaleLoss", "scale-loss", "bool", "false",
           "The gradients are those of the loss times an input `loss_scale`, one f64">,
    Option<"precision", "precision", "std::string", "\"fp32\"",
           "What values will be stored as (fp32, bf16 or fp16): what is compared with an extremum is rounded so">,
    ListOption<"freeze", "freeze", "std::string",
               "Regular expressions (POSIX, extended): a parameter whose whole name matches one does not train">,
    ListOption<"padding", "padding", "std::string",
               "NAME=ROW: look-ups of this row of the parameter give no gradient, as PyTorch's padding_idx, "
               "which exported files do not hold">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::spillway::nn::NNDialect"];
}

def NNSaveLessPass : Pass<"nn-save-less", "::mlir::func::FuncOp"> {
  let summary = "Keeps less of the forward half for the backward half";
  let description = [{
    What the backward half takes of the forward half is kept from one to the other. Elementwise values that follow
    from what is kept anyway, or from fewer bytes, are computed again where the backward half takes them, so
    that they are part of its kernels:

    ```mlir
    %h = arith.mulf %x, %x            // %x is kept
    %t = math.tanh %h
    ... // the loss
    %d = arith.mulf %g, %t
    ```
    becomes
    ```mlir
    %h = arith.mulf %x, %x
    %t = math.tanh %h
    ...
    %h2 = arith.mulf %x, %x
    %t2 = math.tanh %h2
    %d = arith.mulf %g, %t2
    ```

    What ends a product's kernel (its bias, a residual sum) is kept all the same: the kernel stores it. A log-softmax
    is taken apart into what it is of its operand and two numbers of each row, and an element that is picked
    from such a value is computed from the picked element of the operand: so a loss over a large vocabulary holds the logits alone.

    Needs: the loss as the first result, the backward half behind it. Leaves: operations, of which common
    subexpressions must not be joined again.
  }];
  let statistics = [
    Statistic<"numRepeated", "repeated", "Operations that are computed again">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::spillway::nn::NNDialect"];
}

#endif
