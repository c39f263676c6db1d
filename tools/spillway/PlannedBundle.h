// A bundle opened to look at: what it is, what it does, and how its plan came about.
#pragma once

#include "runtime/bundle/Bundle.h"
#include "runtime/executor/Program.h"
#include "spillway/Plan/Simulator.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <span>
#include <string>

namespace spillway {

struct PlannedBundle {
  static Result<PlannedBundle> open(const std::filesystem::path &folder,
                                    LinkedFiles linkedFiles = LinkedFiles::checked);

  /// Replays the step on the machine that it was planned for.
  Result<plan::Simulation> simulate() const;

  std::span<const uint8_t> table() const {
    return {reinterpret_cast<const uint8_t *>(bundle.table().data()), bundle.table().size()};
  }

  Bundle bundle;
  Store store;
  Program program;
  /// The planner's figures (see plan::summarize), as text and as a value; an empty object where the
  /// bundle has none.
  std::string planText = "{}";
  nlohmann::ordered_json plan = nlohmann::ordered_json::object();
};

} // namespace spillway
