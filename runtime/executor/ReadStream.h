// The read stream: brings states, their rows, and values that waited on the drive from files into
// arenas. Internal to the executor.
#pragma once

#include "runtime/executor/FileStream.h"
#include "runtime/executor/Scratch.h"
#include "runtime/executor/Slots.h"
#include "runtime/memory/Arena.h"
#include "runtime/state/CanonicalPart.h"
#include "runtime/state/Store.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace spillway {

class ReadStream final : public FileStream {
public:
  /// Opens the files of the states and the scratch file, and declares `arenas` to the engine, which
  /// all outlive it as `store` and `slots` do.
  static Result<std::unique_ptr<ReadStream>> create(const Store &store, const Slots &slots,
                                                    const Scratch &scratch, io::Engine &engine,
                                                    std::span<const std::span<std::byte>> arenas,
                                                    std::chrono::milliseconds timeout);

private:
  /// What is on its way into memory for a command. Either consecutive bytes of a file, of
  /// a Read that is direct, a piece for a Lookup or a value that comes back: up to three requests, whole blocks
  /// straight to their place, and an incomplete block at each end by way of a block of
  /// memory here. Or a part of a linked state, by way of a buffer from which it is packed.
  struct Transfer {
    uint32_t command = 0;
    /// A handle of the engine.
    int file = -1;
    uint64_t fileBytes = 0;
    /// Not of a value that comes back.
    uint32_t state = 0;
    /// The wanted bytes [begin, end) of the file.
    uint64_t begin = 0;
    uint64_t end = 0;
    /// Where byte `begin` goes; congruent to it modulo a block.
    std::byte *target = nullptr;
    uint32_t requestsInFlight = 0;
    /// Of a lookup's piece: the places in its order that it serves.
    uint32_t firstPlace = 0;
    uint32_t lastPlace = 0;
    uint32_t stagingSlot = 0;
    /// Of a part that is packed.
    CanonicalPart part;
    std::optional<uint32_t> packBuffer;
  };

  enum Part : uint32_t { head, middle, tail, packed, partCount };

  ReadStream(const Store &store, const Slots &slots, const Scratch &scratch, io::Engine &engine,
             std::chrono::milliseconds timeout)
      : FileStream(StreamKind::read, engine, timeout), store_(store), slots_(slots),
        scratch_(scratch) {}

  Status initialise(std::span<const std::span<std::byte>> arenas);

  void restart() override;
  Result<bool> begin() override;
  Status complete(const io::Completion &completion) override;

  Status beginCommand(uint32_t index);
  /// Begins a part of the command that has begun in part; false where there is no room.
  Result<bool> beginPart(uint32_t index);
  Status beginPacking(uint32_t index);
  Status beginLookup(const LookupOperation &lookup, uint32_t index);
  Status beginPiece(const LookupOperation &lookup, uint32_t index);
  Status beginRestore(const RestoreOperation &restore, uint32_t index);
  /// A transfer from the file of a state.
  Transfer transferOf(uint32_t state, uint32_t index) const;
  Status beginTransfer(const Transfer &transfer);
  /// Requests the blocks of the bytes [begin, end) of the file; `begin` goes to `data` plus its
  /// offset in its block.
  Status submit(uint32_t transfer, Part part, uint64_t begin, uint64_t end, std::byte *data);
  std::byte *edgeBlock(uint32_t transfer, Part part) const;
  std::byte *packBuffer(uint32_t number) const;
  Layout layoutInFile(const StateView &state) const;

  Status completeTransfer(const Transfer &transfer);
  void completePiece(const LookupOperation &lookup, const Transfer &transfer);
  /// The command ends when this was its last piece.
  void endPiece(uint32_t index);
  Status verify(uint32_t state, uint64_t offset, std::span<const std::byte> bytes);

  const Store &store_;
  const Slots &slots_;
  const Scratch &scratch_;
  /// Handles of the store's files, and of the scratch file.
  std::vector<int> files_;
  int scratchFile_ = -1;
  /// A flag for each chunk of each state: verified since the creation.
  std::vector<std::vector<bool>> verified_;
  std::vector<Transfer> transfers_;
  std::vector<uint32_t> freeTransfers_;
  /// Two blocks for each transfer.
  std::optional<Arena> edgeBlocks_;
  /// Where parts of linked states are read into; absent where there are none.
  std::optional<Arena> packBuffers_;
  std::vector<uint32_t> freePackBuffers_;

  /// The command whose pieces are being begun, and, where it packs, those that are left.
  std::optional<uint32_t> unfinished_;
  CanonicalParts parts_;
};

} // namespace spillway
