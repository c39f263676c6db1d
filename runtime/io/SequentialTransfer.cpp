#include "runtime/io/SequentialTransfer.h"

#include <algorithm>

namespace spillway::io {

Status transferSequentially(Engine &engine, int file, std::span<const Request::Kind> kinds, uint64_t bytes,
                            uint64_t requestBytes, std::span<std::byte> memory) {
  std::vector<uint64_t> places;
  for (uint64_t place = memory.size() / requestBytes; place > 0; --place)
    places.push_back(place - 1);
  std::vector<Completion> completions;
  uint64_t offset = 0;
  while (offset < bytes || engine.inFlight() != 0) {
    for (; offset < bytes && !places.empty(); offset += requestBytes) {
      uint64_t place = places.back();
      places.pop_back();
      SPILLWAY_RETURN_IF_ERROR(engine.submit({kinds[offset / requestBytes % kinds.size()], file, offset,
                                              memory.data() + place * requestBytes,
                                              std::min(requestBytes, bytes - offset), 0, place}));
    }
    SPILLWAY_RETURN_IF_ERROR(engine.poll(completions, forever));
    for (Completion &completion : completions) {
      if (!completion.status.ok())
        return std::move(completion.status);
      places.push_back(completion.tag);
    }
    completions.clear();
  }
  return {};
}

} // namespace spillway::io
