#ifndef SPILLWAY_CONVERSION_ONNXTONN_PASSES
#define SPILLWAY_CONVERSION_ONNXTONN_PASSES

include "mlir/Pass/PassBase.td"

def OnnxReportSharedPass : Pass<"onnx-report-shared", "::mlir::ModuleOp"> {
  let summary = "Warns of initializers that train and that several nodes read";
  let description = [{
    But for embeddings that are looked up and are the factor of products: these are tied. What else nodes share was
    mostly equal by chance when the model was exported.
  }];
  let options = [
    ListOption<"freeze", "freeze", "std::string", "Regular expressions of names that do not train">,
  ];
}

def ConvertOnnxToNNPass : Pass<"convert-onnx-to-nn", "::mlir::ModuleOp"> {
  let summary = "Turns a model of the onnx dialect into a function of nn over states of zero";
  let description = [{
    Needs an `onnx.graph` whose nodes are in topological order. Leaves

    - a `func.func @main` of static types: arguments carry `spillway.name` and
      `spillway.type` (the ONNX element type, which tells unsigned integers from
      signed ones), results too. Its body holds operations of `nn`, `arith` and `math`,
      `zero.use`, `zero.lookup`, and `arith.constant` of at most 1 KiB or of equal elements;
    - a `zero.state` per initializer that is used; its bytes are not read. Integers of
      at most 64 Ki elements, up to 16 floats, and what an operator needs to know at
      compile time (shapes, axes, pads) are read from the file;
    - with `train`, a `zero.update` for each running statistic, at the function's end.

    Shape arithmetic and sequences disappear. Every node's location goes with what is made of it. Errors
    are reported together: unbound dimensions, unsupported operators, and nodes
    that do not convert, but for those that depend on such a node. Where a node had to know a value that
    depends on inputs, their arguments of the unfinished function carry `spillway.must_be_known`.
  }];
  let options = [
    ListOption<"dims", "dims", "std::string", "Sizes of dimensions, NAME=SIZE each">,
    Option<"directory", "directory", "std::string", "\"\"",
           "Folder that the paths of initializers are relative to">,
    Option<"keepParameters", "keep-parameters", "bool", "false",
           "Floating-point initializers with dimensions stay states, however small: they train">,
    Option<"train", "train", "bool", "false",
           "Batch normalization takes the statistics of the batch, whatever the file says, and updates the running "
           "ones; Dropout drops elements, whatever the file says. An input `training` of one boolean says whether a "
           "step does so, or evaluates; an input `random` of i64 holds a key of random numbers for each dropout">,
    ListOption<"evalNorms", "eval-norms", "std::string",
               "Regular expressions (POSIX, extended): a norm with a whole name that matches, of its node or of an "
               "initializer, keeps its running statistics as they are and normalizes with them">,
    ListOption<"evalDropouts", "eval-dropouts", "std::string",
               "Regular expressions (POSIX, extended): a dropout with a node whose whole name matches drops nothing">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::spillway::nn::NNDialect", "::spillway::zero::ZeroDialect"
  ];
}

#endif
