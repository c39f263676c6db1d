#include "tools/spillway/SessionFlags.h"
#include "runtime/base/Size.h"

#include <CLI/CLI.hpp>

#include <charconv>

namespace spillway {

namespace {
Result<io::Fault> parseFault(std::string_view flag, const std::string &text) {
  constexpr std::pair<std::string_view, io::Fault::Kind> kinds[] = {
      {"eio", io::Fault::ioError},
      {"enospc", io::Fault::noSpace},
      {"short", io::Fault::shortTransfer},
      {"corrupt", io::Fault::corruptByte},
      {"stall", io::Fault::stall}};
  io::Fault fault;
  auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), fault.operation);
  std::string_view kind(rest, static_cast<size_t>(text.data() + text.size() - rest));
  if (code == std::errc() && kind.starts_with(":"))
    for (auto [name, value] : kinds)
      if (kind.substr(1) == name) {
        fault.kind = value;
        return fault;
      }
  return userError(
      "{} '{}': expected N:KIND, KIND one of eio, enospc, short, corrupt, stall", flag, text);
}

Result<double> parseBandwidth(std::string_view flag, std::string_view text) {
  if (text.empty())
    return 0.0;
  std::string_view size = text;
  if (size.ends_with("/s"))
    size.remove_suffix(2);
  SPILLWAY_ASSIGN_OR_RETURN(uint64_t bytes, parseSize(size));
  if (bytes == 0)
    return userError("{} '{}': nothing would ever be transferred", flag, text);
  return static_cast<double>(bytes);
}
} // namespace

void SessionFlags::addTo(CLI::App &command, bool writes) {
  command.add_option("--io", engine, "How to read and write states")
      ->check(CLI::IsMember({"auto", "uring", "pread"}))
      ->capture_default_str();
  command.add_option("--threads", threads, "Threads that compute (default: the plan's)")
      ->check(CLI::Range(1u, maxThreads));
  command.add_option("--throttle-read", throttleRead, "Read no faster than this")
      ->type_name("SIZE/s");
  command.add_option("--fail-io", failReads, "Inject a fault at the N-th operation")
      ->type_name("N:KIND")
      ->group("");
  if (!writes)
    return;
  command.add_option("--throttle-write", throttleWrite, "Write no faster than this")
      ->type_name("SIZE/s");
  command.add_option("--fail-write", failWrites, "Inject a fault at the N-th operation of writing")
      ->type_name("N:KIND")
      ->group("");
}

Result<SessionOptions> SessionFlags::parse() const {
  SessionOptions options;
  if (threads != 0)
    options.threads = threads;
  options.engine = *io::engineKindFromName(engine);
  SPILLWAY_ASSIGN_OR_RETURN(options.throttle.readBytesPerSecond,
                            parseBandwidth("--throttle-read", throttleRead));
  SPILLWAY_ASSIGN_OR_RETURN(options.throttle.writeBytesPerSecond,
                            parseBandwidth("--throttle-write", throttleWrite));
  if (!failReads.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(options.readFault, parseFault("--fail-io", failReads));
  }
  if (!failWrites.empty()) {
    SPILLWAY_ASSIGN_OR_RETURN(options.writeFault, parseFault("--fail-write", failWrites));
  }
  return options;
}

} // namespace spillway
