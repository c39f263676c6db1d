// What the commands of a step wait for that the step before has carried. Internal to the conversion.
#pragma once

#include "dialects/Rt/Rt.h"
#include "spillway/Plan/SharedRoom.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace spillway {

/// Every write of a step is carried: new values may be on their way to the drive when the step has ended. Is told which
/// bytes the commands take while they are made, each kind in the order in which they stand; places are counted in the
/// staging that the bytes belong to. A command is named by its event.
class CarriedWaits {
public:
  /// `room` lies below the staging where kernels compute, and outlives this.
  explicit CarriedWaits(const plan::SharedRoom &room) : room_(room) {}

  /// A launch or look-up computes at a moment: over what the step takes of the room by then.
  void noteComputed(mlir::Value command, int64_t moment) { overRoom_.push_back({commandOf(command), moment, false}); }
  /// A value comes back to a place in the room, before a moment.
  void noteRestored(mlir::Value command, int64_t moment) { overRoom_.push_back({commandOf(command), moment, true}); }

  /// Bytes of the staging where kernels compute are a call's.
  void notePiece(mlir::Operation *call, uint64_t begin, uint64_t end);
  /// A command that writes to them.
  void noteFill(mlir::Operation *call, mlir::Value command) {
    pieces_[pieceOf_.at(call)].fills.push_back(commandOf(command));
  }
  /// A command that writes new values from them.
  void noteWrite(mlir::Operation *call, rt::WriteOp write) { pieces_[pieceOf_.at(call)].writes.push_back(write); }

  /// New values go through bytes of the host on their way from the device.
  void noteOutgoing(mlir::Value down, rt::WriteOp write, uint64_t begin, uint64_t end) {
    outgoing_.push_back({commandOf(down), write, begin, end});
  }

  /// Carries the writes of the step, and has its commands wait for them where they must.
  void apply(rt::StepOp step) const;

private:
  struct OverRoom {
    rt::CommandOpInterface command;
    int64_t moment;
    bool isRestored;
  };
  struct Piece {
    uint64_t begin, end;
    std::vector<rt::CommandOpInterface> fills;
    std::vector<rt::WriteOp> writes;
  };
  struct Outgoing {
    rt::CommandOpInterface down;
    rt::WriteOp write;
    uint64_t begin, end;
  };
  using Arguments = llvm::DenseMap<mlir::Operation *, mlir::Value>;

  static rt::CommandOpInterface commandOf(mlir::Value event) {
    return llvm::cast<rt::CommandOpInterface>(event.getDefiningOp());
  }
  void waitForMemory(const Arguments &arguments) const;
  static void waitForFiles(rt::StepOp step, const Arguments &arguments);

  const plan::SharedRoom &room_;
  std::vector<OverRoom> overRoom_;
  std::vector<Piece> pieces_;
  /// By call.
  llvm::DenseMap<mlir::Operation *, size_t> pieceOf_;
  std::vector<Outgoing> outgoing_;
};

} // namespace spillway
