// Whether a program keeps the versions of the states that it rewrites apart.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/state/Store.h"

namespace spillway {

namespace table {
struct Program;
}

/// Checks of a program that writes states, over all its ranks: every chunk of every rewritten
/// state is written by the step or the checkpoint, at most once by each; nothing reads a chunk
/// behind its Write in a list; and what the step reads of such states, it writes, so that the next
/// step finds it. The commands have been checked one by one.
Status checkRewrites(const table::Program &program, const Store &store);

} // namespace spillway
