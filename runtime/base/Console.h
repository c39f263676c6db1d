// What a program says on its standard streams.
#pragma once

#include "runtime/base/Status.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace spillway {

/// At the start of a program: opens what is closed of the descriptors 0 to 2 on nothing, so that no file that is opened
/// later takes their place and receives what is printed.
void openStandardStreams();

/// To standard error. What cannot be written there is lost: the work goes on.
void printNote(std::string_view text);

template <typename... Args> void note(fmt::format_string<Args...> format, Args &&...args) {
  printNote(fmt::format(format, std::forward<Args>(args)...));
}

/// At the end of a program: a machine error where something that was printed to standard output did not arrive.
Status finishOutput();

} // namespace spillway
