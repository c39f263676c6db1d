#include "spillway/Conversion/NNToVector/Epilogue.h"

#include "dialects/NN/Views.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

bool kernels::keepsVectors(Operation *movement) {
  if (auto transpose = dyn_cast<nn::TransposeOp>(movement)) {
    ArrayRef<int64_t> perm = transpose.getPerm();
    return !perm.empty() && perm.back() + 1 == static_cast<int64_t>(perm.size());
  }
  auto reshape = cast<nn::ReshapeOp>(movement);
  ArrayRef<int64_t> from = reshape.getOperand().getType().getShape();
  ArrayRef<int64_t> to = reshape.getResult().getType().getShape();
  if (from.empty() || to.empty())
    return false;
  auto lastSize = [](ArrayRef<int64_t> shape) {
    auto last = llvm::find_if(llvm::reverse(shape), [](int64_t size) { return size != 1; });
    return last == shape.rend() ? 1 : *last;
  };
  int64_t last = lastSize(from), lastOfResult = lastSize(to);
  return last == lastOfResult || (last % panelWidth == 0 && lastOfResult % panelWidth == 0);
}

FailureOr<Epilogue> Epilogue::follow(Operation *anchor, function_ref<bool(Operation *)> inside,
                                     function_ref<void(Operation *)> refuse) {
  Epilogue epilogue(anchor);
  epilogue.paths_[anchor->getResult(0)] = {};
  SmallVector<Value> reached = {anchor->getResult(0)};
  while (!reached.empty()) {
    Value from = reached.pop_back_val();
    for (OpOperand &use : from.getUses()) {
      Operation *op = use.getOwner();
      if (!inside(op))
        continue;
      Path path = epilogue.paths_.lookup(from);
      if (isa<nn::ReshapeOp, nn::TransposeOp>(op)) {
        path.push_back(op);
      } else if (!nn::takesSameElement(use)) {
        refuse(op);
        return failure();
      }
      auto [known, isNew] = epilogue.paths_.try_emplace(op->getResult(0), path);
      if (isNew) {
        reached.push_back(op->getResult(0));
      } else if (!agree(known->second, path)) {
        refuse(op);
        return failure();
      }
    }
  }
  return epilogue;
}

FailureOr<Epilogue> Epilogue::ofKernel(nn::KernelOp kernel, Operation *anchor) {
  auto inside = [](Operation *op) { return !isa<nn::YieldOp>(op); };
  FailureOr<Epilogue> epilogue = follow(anchor, inside, [&](Operation *op) {
    op->emitOpError("cannot follow ")
        << anchor->getName() << " in its kernel: it needs other elements of it";
  });
  if (failed(epilogue))
    return failure();
  for (Value result : cast<nn::YieldOp>(kernel.getBody().front().getTerminator()).getInputs())
    if (!epilogue->paths_.contains(result))
      return kernel.emitOpError("has a result that does not follow from its ")
             << anchor->getName();
  return epilogue;
}

bool Epilogue::keepsVectors() const {
  return llvm::all_of(paths_, [](const auto &path) {
    return llvm::all_of(path.second, kernels::keepsVectors);
  });
}

std::optional<int64_t> Epilogue::lanesIn(Value value) const {
  auto found = paths_.find(value);
  if (found == paths_.end())
    return std::nullopt;
  int64_t dim = cast<RankedTensorType>(anchor_->getResult(0).getType()).getRank() - 1;
  for (Operation *op : found->second) {
    if (auto transpose = dyn_cast<nn::TransposeOp>(op)) {
      dim = llvm::find(transpose.getPerm(), dim) - transpose.getPerm().begin();
      continue;
    }
    RankedTensorType from = cast<nn::ReshapeOp>(op).getOperand().getType(), to = cast<nn::ReshapeOp>(op).getType();
    if (dim + 1 != from.getRank() || !kernels::keepsVectors(op))
      return std::nullopt;
    dim = to.getRank() - 1;
  }
  return dim;
}

bool Epilogue::agree(const Path &lhs, const Path &rhs) {
  return llvm::equal(lhs, rhs, [](Operation *l, Operation *r) {
    if (l->getName() != r->getName() || l->getResultTypes() != r->getResultTypes())
      return false;
    auto transpose = dyn_cast<nn::TransposeOp>(l);
    return !transpose || transpose.getPerm() == cast<nn::TransposeOp>(r).getPerm();
  });
}

ElementIndex Epilogue::positionOf(const Path &path, IndexMath &math, ArrayRef<LaneIndex> index) {
  ElementIndex position(index);
  for (Operation *op : path) {
    if (auto reshape = dyn_cast<nn::ReshapeOp>(op)) {
      position = math.reshape(position, reshape.getOperand().getType().getShape(),
                              reshape.getResult().getType().getShape());
      continue;
    }
    position = llvm::map_to_vector<4>(cast<nn::TransposeOp>(op).getPerm(),
                                      [&](int64_t dim) { return position[dim]; });
  }
  return position;
}

ElementIndex Epilogue::positionIn(unsigned i, ElementEmitter &emitter, ArrayRef<LaneIndex> index) const {
  return positionOf(paths_.lookup(emitter.kernel().yield().getInputs()[i]), emitter.indices(), index);
}

void Epilogue::store(ElementEmitter &emitter, Value element, ArrayRef<LaneIndex> index) const {
  emitter.bind(anchor_->getResult(0), element);
  for (auto [i, result] : llvm::enumerate(emitter.kernel().yield().getInputs())) {
    ElementIndex position = positionIn(i, emitter, index);
    emitter.storeResult(i, position, emitter.pull(result, position));
  }
}
