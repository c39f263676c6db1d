#include "runtime/executor/Scratch.h"

namespace spillway {

Result<int> Scratch::openForWriting(io::Engine &engine) const {
  return engine.open(path_, {.access = io::Access::keep, .reserve = bytes_});
}

Result<int> Scratch::openForReading(io::Engine &engine) const {
  return engine.open(path_, {.access = io::Access::keep});
}

Status Scratch::hide() const {
  std::error_code code;
  std::filesystem::remove(path_, code);
  if (code)
    return systemError(code.value(), fmt::format("cannot remove '{}'", path_.string()));
  return {};
}

Status Scratch::compare(const RestoreOperation &restore, uint64_t checksum) const {
  if (checksum == sums_[restore.number])
    return {};
  return machineError("a value that waited on the drive is damaged: bytes {} to {} of '{}' have the "
                      "checksum {:016x}; expected {:016x}",
                      restore.source.offset, restore.source.offset + restore.source.bytes,
                      path_.string(), checksum, sums_[restore.number]);
}

} // namespace spillway
