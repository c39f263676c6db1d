#include "runtime/executor/Examination.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace spillway {

namespace {
/// Of floats in whose format an exponent of ones says that one is not finite, and other bits then
/// that it is no number.
template <typename Bits>
void visitNotFiniteBits(std::span<const std::byte> bytes, Bits exponent, auto visit) {
  for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(Bits));
    if ((bits & exponent) != exponent)
      continue;
    constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
    visit(static_cast<Bits>(bits & ~sign) != exponent);
  }
}

/// Calls visit(is it no number) for each float that is not finite.
void visitNotFinite(std::span<const std::byte> bytes, DataType type, auto visit) {
  switch (type) {
  case DataType::f32:
    visitNotFiniteBits<uint32_t>(bytes, 0x7f800000u, visit);
    break;
  case DataType::f64:
    visitNotFiniteBits<uint64_t>(bytes, 0x7ff0000000000000u, visit);
    break;
  case DataType::f16:
    visitNotFiniteBits<uint16_t>(bytes, 0x7c00u, visit);
    break;
  case DataType::bf16:
    visitNotFiniteBits<uint16_t>(bytes, 0x7f80u, visit);
    break;
  default:
    break;
  }
}

bool overlap(const Slice &a, const Slice &b) {
  return a.tier == b.tier && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}
} // namespace

Examination::Content Examination::contentOf(const LaunchOperation &launch, size_t argument) const {
  const KernelArguments &arguments = program_.kernelArguments[launch.kernel];
  Content content = Content::finite;
  if (argument >= arguments.types.size())
    return content;
  const Slice &slice = launch.arguments[argument].slice;
  visitNotFinite(
      {list_.address(slice), slice.bytes}, arguments.types[argument], [&](bool isNoNumber) {
        content = std::max(content, isNoNumber ? Content::notANumber : Content::infinite);
      });
  return content;
}

void Examination::note(Content content, const std::string &where) {
  if (content == Content::notANumber && found_.notANumber.empty())
    found_.notANumber = where;
  if (content == Content::infinite && found_.infinite.empty())
    found_.infinite = where;
}

void Examination::lookAtInputs(const LaunchOperation &launch) {
  // What an earlier launch gave has been looked at.
  for (size_t i = 0; i < program_.kernelArguments[launch.kernel].inputs; ++i)
    if (std::string source = sourceOf(launch.arguments[i].slice); !source.empty())
      note(contentOf(launch, i), source);
}

void Examination::lookAtResults(const LaunchOperation &launch, const std::string &label) {
  const KernelArguments &arguments = program_.kernelArguments[launch.kernel];
  // Of several launches that fill a result in turn the last one completes it.
  if (launch.end != arguments.units)
    return;
  for (size_t i = arguments.inputs; i < launch.arguments.size(); ++i)
    note(contentOf(launch, i), fmt::format("'{}'", label));
}

std::string Examination::sourceOf(const Slice &slice) const {
  for (const Binding &input : program_.inputs)
    if (overlap(input.slice, slice))
      return fmt::format("the input '{}'", input.name);
  for (std::span<const Command> commands :
       {std::span<const Command>(program_.prologue), list_.commands()})
    for (const Command &command : commands)
      if (auto *read = std::get_if<ReadOperation>(&command.operation);
          read && overlap(read->target, slice))
        return fmt::format("the state '{}'", command.label);
  return "";
}

} // namespace spillway
