#include "runtime/state/State.h"

namespace spillway {

namespace {
constexpr uint64_t maxBytes = uint64_t(1) << 46;
constexpr uint32_t maxPanelWidth = 4096;
} // namespace

uint64_t StateType::elements() const {
  uint64_t product = 1;
  for (int64_t extent : shape)
    product *= static_cast<uint64_t>(extent);
  return product;
}

uint64_t StateType::panelCount() const {
  uint64_t extent = static_cast<uint64_t>(shape[panelDim]);
  return (extent + panelWidth - 1) / panelWidth;
}

uint64_t StateType::storedBytes() const {
  return layout == Layout::rowMajor ? logicalBytes() : panelCount() * pieceBytes();
}

uint64_t StateType::rowElements() const {
  uint64_t product = 1;
  for (size_t dim = 1; dim < shape.size(); ++dim)
    product *= static_cast<uint64_t>(shape[dim]);
  return product;
}

uint64_t StateType::pieceBytes() const {
  if (layout == Layout::rowMajor)
    return rowBytes();
  return panelWidth * panelDepth() * elementBytes();
}

uint64_t StateType::panelDepth() const {
  return panelDim == 0 ? rowElements() : static_cast<uint64_t>(shape[0]);
}

Status StateType::check() const {
  if (elementBytes() == 0)
    return userError("state '{}' has an invalid data type", name);
  if (role > Role::companion)
    return userError("state '{}' has an unknown role", name);
  // Zero-size tensors too must not overflow in any partial product.
  unsigned __int128 product = elementBytes();
  for (int64_t extent : shape) {
    if (extent < 0)
      return userError("state '{}' has a negative dimension", name);
    product *= static_cast<uint64_t>(extent == 0 ? 1 : extent);
    if (product > maxBytes)
      return userError("state '{}' is larger than 2^46 bytes", name);
  }
  if (layout == Layout::rowMajor)
    return {};
  if (layout != Layout::panels)
    return userError("state '{}' has an unknown layout", name);
  if (shape.size() < 2 || panelDim > 1 || (panelDim == 1 && shape.size() != 2))
    return userError("state '{}' is stored in panels but is no matrix", name);
  if (panelWidth == 0 || panelWidth > maxPanelWidth)
    return userError("state '{}' has panels of width {}; expected 1 to {}", name, panelWidth,
                     maxPanelWidth);
  return {};
}

} // namespace spillway
