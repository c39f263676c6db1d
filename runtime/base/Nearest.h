// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spillway {

/// The candidate with the fewest insertions, deletions and replacements of
/// characters to make of `name`; empty where more than half of the name would
/// have to change, or there is none.
std::string_view nearest(std::string_view name, std::span<const std::string> candidates);

/// "; did you mean 'x'?", or nothing.
std::string didYouMean(std::string_view name, std::span<const std::string> candidates);

} // namespace spillway
