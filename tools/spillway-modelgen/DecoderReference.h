// What a decoder computes, by plain float64 loops written apart from its graph.
#pragma once

#include "tools/spillway-modelgen/Decoder.h"

#include <filesystem>

namespace spillway::modelgen {

/// A user error where the model does not take inputs of this shape.
Status checkTestData(const DecoderOptions &options, int64_t batch, int64_t sequence);

/// Writes seeded token ids (and labels, some of them ignored) of shape [batch, sequence] and the
/// expected outputs to `folder`/test_data_set_0/{input,output}_K.pb. Holds the weights of one
/// layer at a time.
Status writeTestData(const DecoderOptions &options, const Model &model, int64_t batch,
                     int64_t sequence, const std::filesystem::path &folder);

} // namespace spillway::modelgen
