// What all engines say about requests, in the same words.
#pragma once

#include "runtime/io/Engine.h"

namespace spillway::io {

/// "cannot read 4096 bytes at offset 8192 of 'weights.bin'".
std::string describe(const Request &request, const std::filesystem::path &path);

/// The error of a request that failed with errno `code`.
Error transferError(int code, const Request &request, const std::filesystem::path &path);

/// The error of a read whose file ends `found` bytes after the request's offset.
Error shortFileError(const Request &request, const std::filesystem::path &path, uint64_t found);

/// Whether an engine can take the request to a file opened with `options`; a bug error
/// where not.
Status checkRequest(const Request &request, const std::filesystem::path &path,
                    const OpenOptions &options);

} // namespace spillway::io
