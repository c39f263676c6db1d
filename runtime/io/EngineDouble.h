// What the engines that stand before another one have in common.
#pragma once

#include "runtime/io/Engine.h"

#include <atomic>

namespace spillway::io {

/// Values by small numbers that serve as tags of the inner engine's requests.
template <typename T> class TagTable {
public:
  uint64_t add(T value) {
    if (free_.empty()) {
      free_.push_back(values_.size());
      values_.emplace_back();
    }
    uint64_t tag = free_.back();
    free_.pop_back();
    values_[tag] = std::move(value);
    ++size_;
    return tag;
  }
  T take(uint64_t tag) {
    free_.push_back(tag);
    --size_;
    return std::move(values_[tag]);
  }
  uint64_t size() const { return size_; }

private:
  std::vector<T> values_;
  std::vector<uint64_t> free_;
  uint64_t size_ = 0;
};

/// Passes on what it does not change.
class EngineDouble : public Engine {
public:
  Result<int> open(const std::filesystem::path &path, const OpenOptions &options) override {
    return inner_->open(path, options);
  }
  Status close(int file) override { return inner_->close(file); }
  Status registerMemory(std::span<const std::span<std::byte>> arenas) override {
    return inner_->registerMemory(arenas);
  }
  void wake() override {
    woken_.store(true);
    inner_->wake();
  }
  Counters counters() const override { return inner_->counters(); }
  TimePoint now() const override { return inner_->now(); }

protected:
  explicit EngineDouble(std::unique_ptr<Engine> inner) : inner_(std::move(inner)) {}

  Engine &inner() { return *inner_; }
  const Engine &inner() const { return *inner_; }
  /// Whether `wake` was called since the last answer.
  bool takeWake() { return woken_.exchange(false); }

private:
  std::unique_ptr<Engine> inner_;
  std::atomic<bool> woken_{false};
};

} // namespace spillway::io
