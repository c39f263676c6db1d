// What the verifier of FlatBuffers 2.0.8 leaves unchecked.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <type_traits>

namespace spillway {

/// Whether the elements of a verified vector, null where it is absent, lie at multiples of
/// their alignment: the verifier looks at the place of the vector's length only. An empty one
/// may lie anywhere.
template <typename T> bool hasAlignedElements(const flatbuffers::Vector<T> *vector) {
  using Element = std::remove_pointer_t<T>;
  return !vector || vector->size() == 0 ||
         reinterpret_cast<uintptr_t>(vector->Data()) % alignof(Element) == 0;
}

} // namespace spillway
