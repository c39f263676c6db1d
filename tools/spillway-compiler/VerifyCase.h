// One case in the layout of the ONNX backend tests: a folder with model.onnx, test_data_set_N
// with input_K.pb and output_K.pb, and perhaps data.json with tolerances of its own.
#pragma once

#include "tools/spillway-compiler/Commands.h"

#include <filesystem>

namespace spillway {

struct VerifyOptions {
  CompileFlags compile;
  /// |actual - expected| <= atol + rtol * |expected|, where the case does not say.
  double atol = 1e-4, rtol = 1e-3;
  std::string engine = "auto";
  /// Inputs whose values must be known when the model is compiled become constants of their data.
  bool constantInputs = false;
};

/// Compiles the model into a bundle in `scratch`, runs it on each data set, compares.
Status verifyCase(const std::filesystem::path &folder, const VerifyOptions &options,
                  const mlir::DialectRegistry &plugins, const std::filesystem::path &scratch);

} // namespace spillway
