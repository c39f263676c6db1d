#include "runtime/io/Transfers.h"

#include <limits>

namespace spillway::io {

std::string describe(const Request &request, const std::filesystem::path &path) {
  if (request.kind == Request::sync)
    return fmt::format("cannot sync '{}'", path.string());
  return fmt::format("cannot {} {} bytes at offset {} of '{}'",
                     request.kind == Request::read ? "read" : "write", request.bytes,
                     request.offset, path.string());
}

Error transferError(int code, const Request &request, const std::filesystem::path &path) {
  return systemError(code, describe(request, path));
}

Error shortFileError(const Request &request, const std::filesystem::path &path, uint64_t found) {
  return machineError(
      "{}: the file is shorter than expected; it ends after {} bytes, {} are needed",
      describe(request, path), request.offset + found,
      request.offset + request.bytes - request.slack);
}

Status checkRequest(const Request &request, const std::filesystem::path &path,
                    const OpenOptions &options) {
  if (request.kind == Request::sync)
    return {};
  if (request.kind == Request::write && options.access == Access::read)
    return bugError("{}: it was opened for reading", describe(request, path));
  constexpr uint64_t end = std::numeric_limits<int64_t>::max();
  if (request.bytes > end || request.offset > end - request.bytes)
    return bugError("{}: beyond any file", describe(request, path));
  if (request.slack > (request.kind == Request::read ? request.bytes : 0))
    return bugError("{}: {} bytes of slack", describe(request, path), request.slack);
  if (options.direct &&
      (reinterpret_cast<uintptr_t>(request.data) % directAlignment != 0 ||
       request.offset % directAlignment != 0 || request.bytes % directAlignment != 0))
    return bugError("{}: a direct file needs address ({}), offset and length to be multiples of {}",
                    describe(request, path), fmt::ptr(request.data), directAlignment);
  return {};
}

} // namespace spillway::io
