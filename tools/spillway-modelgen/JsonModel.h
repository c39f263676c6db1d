// ONNX models described in JSON, for tests that a reviewer can read.
#pragma once

#include "runtime/base/Status.h"

#include <filesystem>

namespace spillway::modelgen {

/// The format, as `spillway-modelgen json --help` prints it.
extern const char *const jsonModelFormat;

/// Encodes the description in `json` as an ONNX model. Nothing is checked that a reader of ONNX
/// would check: wrong models are what some tests need.
Status writeJsonModel(const std::filesystem::path &json, const std::filesystem::path &output);

} // namespace spillway::modelgen
