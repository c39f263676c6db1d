// Where values that are no finite numbers come from. Internal to the executor.
#pragma once

#include "runtime/base/Finite.h"
#include "runtime/executor/CommandList.h"
#include "runtime/executor/NotFinite.h"

#include <span>
#include <string>

namespace spillway {

/// Looks at the floats that the launches of a list take and give, in their order.
class Examination {
public:
  /// `prologue` brought in what stays in the arenas. All outlive the examination.
  Examination(const Program &program, const CommandList &list) : program_(program), list_(list) {}

  /// Of the command `index`.
  void lookAtInputs(const LaunchOperation &launch, uint32_t index);
  void lookAtResults(const LaunchOperation &launch, const std::string &label);
  const NotFinite &found() const { return found_; }

private:
  Content contentOf(const LaunchOperation &launch, size_t argument) const;
  void note(Content content, const std::string &where);
  /// What is read, or given from outside, into a slice before the command `index`; empty where a launch has filled it.
  std::string sourceOf(const Slice &slice, uint32_t index) const;

  const Program &program_;
  const CommandList &list_;
  NotFinite found_;
};

} // namespace spillway
