#include "runtime/base/Checksum.h"

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

namespace spillway {

struct Checksum::State {
  XXH3_state_t hash;
};

uint64_t checksum(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Checksum::Checksum() : state_(std::make_unique<State>()) { reset(); }
Checksum::~Checksum() = default;
Checksum::Checksum(Checksum &&) noexcept = default;
Checksum &Checksum::operator=(Checksum &&) noexcept = default;

void Checksum::update(std::span<const std::byte> bytes) {
  XXH3_64bits_update(&state_->hash, bytes.data(), bytes.size());
}

uint64_t Checksum::value() const { return XXH3_64bits_digest(&state_->hash); }

void Checksum::reset() { XXH3_64bits_reset(&state_->hash); }

} // namespace spillway
