// The `spillway` program as a user runs it.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace spillway::test {

struct Ran {
  /// 128 and the signal's number where one ended it.
  int code = -1;
  std::string text;
};

inline int exitCode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Runs the tool; both of its streams as text.
inline Ran spillwayTool(const std::string &arguments) {
  Ran ran;
  FILE *pipe = popen(("exec " SPILLWAY_TOOL " " + arguments + " 2>&1").c_str(), "r");
  char part[4096];
  while (size_t count = fread(part, 1, sizeof(part), pipe))
    ran.text.append(part, count);
  ran.code = exitCode(pclose(pipe));
  return ran;
}

inline void expectError(const std::string &arguments, int code, std::string_view text) {
  Ran ran = spillwayTool(arguments);
  EXPECT_EQ(ran.code, code) << arguments << ": " << ran.text;
  EXPECT_NE(ran.text.find(text), std::string::npos) << arguments << ": " << ran.text;
  EXPECT_TRUE(ran.text.starts_with("spillway: error: ")) << ran.text;
}

/// The tool in a process that goes on beside the test.
class StartedTool {
public:
  explicit StartedTool(const std::string &arguments)
      : command_("exec " SPILLWAY_TOOL " " + arguments + " >/dev/null 2>&1"), process_(fork()) {
    if (process_ == 0) {
      execl("/bin/sh", "sh", "-c", command_.c_str(), nullptr);
      _exit(127);
    }
  }
  ~StartedTool() {
    if (process_ > 0) {
      signal(SIGKILL);
      wait();
    }
  }
  StartedTool(const StartedTool &) = delete;

  void signal(int number) { kill(process_, number); }
  int wait() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return exitCode(status);
  }

private:
  std::string command_;
  pid_t process_;
};

} // namespace spillway::test
