// Flags of how a bundle runs, which all subcommands that run one have.
#pragma once

#include "runtime/session/Session.h"

#include <string>

namespace CLI {
class App;
}

namespace spillway {

/// As they are typed. Lives as long as the subcommand that it was added to.
struct SessionFlags {
  /// With those that are about writing states where `writes`.
  void addTo(CLI::App &command, bool writes);
  Result<SessionOptions> parse() const;

  std::string engine = "auto";
  unsigned threads = 0;
  std::string throttleRead, throttleWrite;
  std::string failReads, failWrites;
};

} // namespace spillway
