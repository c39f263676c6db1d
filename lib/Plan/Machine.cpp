#include "spillway/Plan/Machine.h"

#include "runtime/table/table_generated.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace spillway;
using namespace spillway::plan;
using Json = nlohmann::ordered_json;

namespace {

std::string_view streamName(size_t stream) {
  return table::EnumNameStream(static_cast<table::Stream>(stream));
}

/// Takes numbers out of an object and refuses what it does not know.
class Reader {
public:
  Reader(const Json &object, std::string what) : object_(object), what_(std::move(what)) {}

  Status checkKeys(const std::vector<std::string_view> &known) const {
    if (!object_.is_object())
      return userError("{} is no JSON object", what_);
    for (const auto &[key, value] : object_.items())
      if (std::ranges::find(known, key) == known.end())
        return userError("{} has an unknown entry '{}'", what_, key);
    return {};
  }

  /// Leaves `number` alone where there is no such entry.
  Status read(std::string_view key, double &number, bool zeroAllowed = false) const {
    auto it = object_.find(key);
    if (it == object_.end())
      return {};
    double value = it->is_number() ? it->get<double>() : -1;
    if (!(value > 0 || (zeroAllowed && value == 0)))
      return userError("{}: '{}' must be a number above zero", what_, key);
    number = value;
    return {};
  }

private:
  const Json &object_;
  std::string what_;
};

Status parseChannels(const Json &json, std::array<Channel, 6> &channels) {
  std::vector<std::string_view> known;
  for (size_t i = 1; i < channels.size(); ++i)
    known.push_back(streamName(i));
  SPILLWAY_RETURN_IF_ERROR(Reader(json, "channels").checkKeys(known));
  for (size_t i = 1; i < channels.size(); ++i) {
    auto it = json.find(streamName(i));
    if (it == json.end())
      continue;
    Reader reader(*it, fmt::format("channel {}", streamName(i)));
    SPILLWAY_RETURN_IF_ERROR(reader.checkKeys({"bytes_per_second", "latency_seconds", "transfer_seconds"}));
    SPILLWAY_RETURN_IF_ERROR(reader.read("bytes_per_second", channels[i].bytesPerSecond));
    SPILLWAY_RETURN_IF_ERROR(reader.read("latency_seconds", channels[i].latencySeconds, true));
    SPILLWAY_RETURN_IF_ERROR(reader.read("transfer_seconds", channels[i].transferSeconds, true));
  }
  return {};
}

} // namespace

Result<Machine> Machine::parse(std::string_view text) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return userError("a machine description must be JSON");
  Machine machine;
  Reader reader(json, "the machine description");
  SPILLWAY_RETURN_IF_ERROR(reader.checkKeys(
      {"estimate", "flops_per_thread", "memory_bytes_per_second", "launch_seconds", "drive_bytes_per_second", "channels"}));
  if (auto estimate = json.find("estimate"); estimate != json.end() && !estimate->is_boolean())
    return userError("the machine description: 'estimate' must be true or false");
  machine.isEstimate = json.value("estimate", false);
  SPILLWAY_RETURN_IF_ERROR(reader.read("memory_bytes_per_second", machine.memoryBytesPerSecond));
  SPILLWAY_RETURN_IF_ERROR(reader.read("launch_seconds", machine.launchSeconds, true));
  SPILLWAY_RETURN_IF_ERROR(reader.read("drive_bytes_per_second", machine.driveBytesPerSecond, true));
  if (auto flops = json.find("flops_per_thread"); flops != json.end()) {
    if (!flops->is_object())
      return userError("flops_per_thread is no JSON object");
    for (const auto &[key, value] : flops->items()) {
      auto type = dataTypeFromName(key);
      if (!type)
        return userError("flops_per_thread has an unknown type '{}'", key);
      SPILLWAY_RETURN_IF_ERROR(
          Reader(*flops, "flops_per_thread").read(key, machine.flopsPerThread[*type]));
    }
  }
  if (auto channels = json.find("channels"); channels != json.end())
    SPILLWAY_RETURN_IF_ERROR(parseChannels(*channels, machine.channels));
  return machine;
}

std::string Machine::print() const {
  Json json;
  if (isEstimate)
    json["estimate"] = true;
  for (auto [type, flops] : flopsPerThread)
    json["flops_per_thread"][std::string(name(type))] = flops;
  json["memory_bytes_per_second"] = memoryBytesPerSecond;
  json["launch_seconds"] = launchSeconds;
  if (driveBytesPerSecond > 0)
    json["drive_bytes_per_second"] = driveBytesPerSecond;
  for (size_t i = 1; i < channels.size(); ++i)
    json["channels"][std::string(streamName(i))] = {
        {"bytes_per_second", channels[i].bytesPerSecond},
        {"latency_seconds", channels[i].latencySeconds},
        {"transfer_seconds", channels[i].transferSeconds}};
  return json.dump(2) + "\n";
}

double spillway::plan::launchSeconds(const Machine &machine, const KernelCost &cost,
                                     double fraction, unsigned threads) {
  auto it = machine.flopsPerThread.find(cost.type);
  double flops = it != machine.flopsPerThread.end() ? it->second
                                                    : machine.flopsPerThread.at(DataType::f32);
  double work = std::max(cost.flops / (flops * threads), cost.bytes / machine.memoryBytesPerSecond);
  double shared = cost.sharedBytes / machine.memoryBytesPerSecond;
  return machine.launchSeconds + shared + work * fraction;
}

double spillway::plan::channelSeconds(const Channel &channel, double bytes) {
  return channel.transferSeconds + bytes / channel.bytesPerSecond;
}

double spillway::plan::driveSeconds(const Machine &machine, Moved read, Moved written) {
  double both = std::min(read.bytes, written.bytes);
  if (machine.driveBytesPerSecond <= 0 || both == 0)
    return 0;
  double oneAfterTheOther = both / machine.channels[1].bytesPerSecond + both / machine.channels[2].bytesPerSecond;
  // What it reads more than it writes, or less, goes alone; all of it does where it is slower at both than at one after the other.
  return read.seconds + written.seconds - std::max(0.0, oneAfterTheOther - 2 * both / machine.driveBytesPerSecond);
}

double spillway::plan::lookupSeconds(const Channel &channel, uint64_t count, uint64_t pieceBytes,
                                     uint64_t stagingBytes) {
  if (count == 0)
    return 0;
  uint64_t atOnce = std::max<uint64_t>(1, pieceBytes ? stagingBytes / pieceBytes : count);
  auto rounds = static_cast<double>((count + atOnce - 1) / atOnce);
  return static_cast<double>(count) * channelSeconds(channel, static_cast<double>(pieceBytes)) +
         (rounds - 1) * channel.latencySeconds;
}

double spillway::plan::residentLookupSeconds(const Machine &machine, double bytes) {
  return machine.launchSeconds + 2 * bytes / machine.memoryBytesPerSecond;
}
