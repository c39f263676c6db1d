// Memory that the step before still writes from when the next one starts.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace spillway::plan {

/// Which transfers still need which bytes, numbered as the caller likes. Whoever takes bytes waits for their
/// transfers, and those who take them later wait for him.
class CarriedBytes {
public:
  /// Transfer `number` needs bytes [begin, end), and what was there before has ended.
  void add(uint64_t begin, uint64_t end, uint32_t number);

  /// The transfers that need some of these bytes, each once, by ascending bytes.
  std::vector<uint32_t> find(uint64_t begin, uint64_t end) const;

  /// The same, and forgets the bytes.
  std::vector<uint32_t> take(uint64_t begin, uint64_t end);

private:
  struct Run {
    uint64_t end;
    uint32_t number;
  };
  void erase(uint64_t begin, uint64_t end);

  /// By first byte; they do not overlap.
  std::map<uint64_t, Run> runs_;
};

} // namespace spillway::plan
