#include "runtime/state/Commit.h"
#include "runtime/base/Checksum.h"
#include "runtime/base/File.h"

#include <algorithm>
#include <cstring>

namespace spillway {

namespace {
constexpr uint32_t recordVersion = 1;
constexpr char magic[8] = {'S', 'P', 'C', 'O', 'M', 'M', 'I', 'T'};

struct Record {
  char magic[8];
  uint32_t version;
  uint32_t slot;
  uint64_t sequence;
  uint64_t step;
  uint64_t checksums;
  uint64_t payloadBytes;
  char payload[maxPayloadBytes];
  char reserved[blockBytes - 56 - maxPayloadBytes];
  /// Of all bytes before it.
  uint64_t checksum;
};
static_assert(sizeof(Record) == blockBytes);

uint64_t checksumOf(const Record &record) {
  return checksum(std::as_bytes(std::span(&record, 1)).first(offsetof(Record, checksum)));
}

using Block = std::span<const std::byte, blockBytes>;

/// Nothing where the block holds no whole record of its place.
std::optional<Record> readRecord(Block block, uint64_t place) {
  Record record;
  std::memcpy(&record, block.data(), sizeof(record));
  bool isWhole = record.checksum == checksumOf(record) && std::ranges::equal(record.magic, magic) &&
                 record.version == recordVersion && record.slot <= 1 &&
                 record.payloadBytes <= maxPayloadBytes && recordPlace(record.sequence) == place;
  return isWhole ? std::optional(record) : std::nullopt;
}
} // namespace

uint64_t recordPlace(uint64_t sequence) { return sequence % 2 * blockBytes; }

uint64_t checksumsBytes(uint64_t chunks) { return roundUpToBlock(chunks * sizeof(uint64_t)); }

uint64_t checksumsPlace(uint32_t slot, uint64_t chunks) {
  return 2 * blockBytes + slot * checksumsBytes(chunks);
}

uint64_t commitsFileBytes(uint64_t chunks) { return checksumsPlace(2, chunks); }

void encodeCommit(const Commit &commit, uint64_t checksums,
                  std::span<std::byte, blockBytes> block) {
  Record record{};
  std::ranges::copy(magic, record.magic);
  record.version = recordVersion;
  record.slot = commit.slot;
  record.sequence = commit.sequence;
  record.step = commit.step;
  record.checksums = checksums;
  record.payloadBytes = commit.payload.size();
  std::ranges::copy(commit.payload, record.payload);
  record.checksum = checksumOf(record);
  std::memcpy(block.data(), &record, sizeof(record));
}

Result<std::optional<FileLock>> lockStates(const std::filesystem::path &bundle,
                                           FileLock::Kind kind) {
  std::filesystem::path path = bundle / commitsName;
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    return std::optional<FileLock>();
  SPILLWAY_ASSIGN_OR_RETURN(std::optional<FileLock> lock, FileLock::acquire(path, kind));
  if (!lock)
    return userError("'{}' is {} by another process", bundle.string(),
                     kind == FileLock::exclusive ? "trained or read" : "trained");
  return lock;
}

Result<CommittedVersion> readLastCommit(const std::filesystem::path &path, uint64_t chunks) {
  uint64_t expected = commitsFileBytes(chunks);
  SPILLWAY_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, readFile(path, expected));
  auto damaged = [&](std::string_view why) {
    return machineError("'{}' is damaged: {}", path.string(), why);
  };
  if (bytes.size() != expected)
    return damaged(fmt::format("it has {} bytes; expected {}", bytes.size(), expected));
  std::optional<Record> newest;
  for (uint64_t place : {recordPlace(0), recordPlace(1)}) {
    Block block(bytes.data() + place, blockBytes);
    std::optional<Record> record = readRecord(block, place);
    if (record && (!newest || record->sequence > newest->sequence))
      newest = record;
  }
  // One record that is not whole was cut off while it was written; two never are.
  if (!newest)
    return damaged("neither of its records is whole");
  if (newest->sequence == 0)
    return CommittedVersion();
  CommittedVersion version{{newest->sequence, newest->step, newest->slot,
                            std::string(newest->payload, newest->payloadBytes)},
                           std::vector<uint64_t>(chunks)};
  std::span sums =
      std::span(bytes).subspan(checksumsPlace(newest->slot, chunks), checksumsBytes(chunks));
  if (checksum(sums) != newest->checksums)
    return damaged(fmt::format("the checksums of commit {} are not those that were written",
                               newest->sequence));
  std::memcpy(version.checksums.data(), sums.data(), chunks * sizeof(uint64_t));
  return version;
}

} // namespace spillway
