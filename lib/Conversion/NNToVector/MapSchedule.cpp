// Each result element by itself, by pulling. Results of one shape and layout share a loop nest.

#include "spillway/Conversion/NNToVector/ElementEmitter.h"
#include "spillway/Conversion/NNToVector/KernelSchedule.h"
#include "spillway/Conversion/NNToVector/RegisterTile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::kernels;

namespace {

/// Elements that a unit holds, about.
constexpr int64_t unitElements = 8192;
/// Lanes of a vector, whatever the element: one AVX-512 register of f32.
constexpr int64_t mapLanes = 16;

/// Results of one shape and layout, seen as rows: their trailing dimensions are one. Where they are stored
/// in panels, a row is what a panel holds at one place of the other dimensions, and a unit is a panel.
struct ResultGroup {
  ArrayRef<int64_t> shape;
  nn::PanelsAttr panels;
  SmallVector<unsigned> results;
  /// Trailing dimensions that a row joins.
  int64_t rowDims = 0;
  int64_t rows = 1, rowLength = 1;
  /// A unit is either some whole rows or a chunk of one (a multiple of the lanes).
  int64_t rowsPerUnit = 1, chunksPerRow = 1;
  int64_t firstUnit = 0;

  int64_t units() const { return llvm::divideCeil(rows, rowsPerUnit) * chunksPerRow; }
};

bool isElementwise(nn::KernelOp kernel) {
  return llvm::all_of(kernel.getBody().front().without_terminator(), [](Operation &op) {
    return OpTrait::hasElementwiseMappableTraits(&op) || isa<arith::ConstantOp>(op);
  });
}

/// Trailing dimensions that become the row: all of them where no operation asks for an
/// index; else the last one, or more while the row is short or leaves a remainder of lanes.
int64_t rowDims(ArrayRef<int64_t> shape, bool elementwise) {
  if (elementwise)
    return shape.size();
  int64_t length = 1, dims = 0;
  for (int64_t size : llvm::reverse(shape)) {
    bool enough = length >= 4 * mapLanes || (length >= mapLanes && length % mapLanes == 0);
    if (enough)
      break;
    length *= size;
    ++dims;
  }
  return dims;
}

SmallVector<ResultGroup> resultGroups(nn::KernelOp kernel) {
  bool elementwise = isElementwise(kernel);
  SmallVector<ResultGroup> groups;
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    ArrayRef<int64_t> shape = tensor.getShape();
    auto panels = kernel.getResultAttrOfType<nn::PanelsAttr>(i, nn::layoutAttrName);
    auto *known = llvm::find_if(
        groups, [&](const ResultGroup &g) { return g.shape == shape && g.panels == panels; });
    if (known != groups.end()) {
      known->results.push_back(i);
      continue;
    }
    ResultGroup group;
    group.shape = shape;
    group.panels = panels;
    group.results.push_back(i);
    if (panels) {
      group.rowsPerUnit = nn::panelDepth(tensor, panels.getDim());
      group.rowLength = panelWidth;
      group.rows = llvm::divideCeil(shape[panels.getDim()], panelWidth) * group.rowsPerUnit;
      group.rowsPerUnit = std::max<int64_t>(1, group.rowsPerUnit);
    } else {
      group.rowDims = rowDims(shape, elementwise);
      for (int64_t size : shape.drop_back(group.rowDims))
        group.rows *= size;
      for (int64_t size : shape.take_back(group.rowDims))
        group.rowLength *= size;
      if (group.rowLength > 2 * unitElements)
        group.chunksPerRow = llvm::divideCeil(group.rowLength, unitElements);
      else
        group.rowsPerUnit =
            std::max<int64_t>(1, unitElements / std::max<int64_t>(1, group.rowLength));
    }
    if (!groups.empty())
      group.firstUnit = groups.back().firstUnit + groups.back().units();
    groups.push_back(group);
  }
  return groups;
}

class MapSchedule final : public KernelSchedule {
public:
  FailureOr<KernelSpace> space(nn::KernelOp kernel) const override {
    if (failed(verifyElements(kernel)))
      return failure();
    SmallVector<ResultGroup> groups = resultGroups(kernel);
    int64_t units = groups.empty() ? 0 : groups.back().firstUnit + groups.back().units();
    return KernelSpace{std::max<int64_t>(1, units), 0};
  }

  LogicalResult emit(KernelBuilder &kernel) const override {
    for (const ResultGroup &group : resultGroups(kernel.kernel()))
      if (group.rows * group.rowLength > 0)
        emitGroup(kernel, group);
    return success();
  }

private:
  static void emitGroup(KernelBuilder &kernel, const ResultGroup &group) {
    ImplicitLocOpBuilder &b = kernel.builder();
    // Units of the call inside the group, counted from its first.
    auto inGroup = [&](Value unit) -> Value {
      Value first = kernel.constantIndex(group.firstUnit);
      Value last = kernel.constantIndex(group.firstUnit + group.units());
      Value inside = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, unit, first), last);
      return arith::SubIOp::create(b, inside, first);
    };
    Value begin = inGroup(kernel.begin()), end = inGroup(kernel.end());
    kernel.setFacts(end, {1, group.units() + 1});

    if (group.panels) {
      kernel.loop(begin, end, 1, [&](Value panel) { emitPanel(kernel, group, panel); });
      return;
    }
    if (group.chunksPerRow == 1) {
      auto firstRow = [&](Value unit) -> Value {
        Value row = arith::MulIOp::create(b, unit, kernel.constantIndex(group.rowsPerUnit));
        return arith::MinSIOp::create(b, row, kernel.constantIndex(group.rows));
      };
      Value rows = firstRow(end);
      kernel.setFacts(rows, {1, group.rows});
      kernel.loop(firstRow(begin), rows, 1, [&](Value row) {
        emitRow(kernel, group, row, kernel.constantIndex(0), group.rowLength);
      });
      return;
    }
    kernel.loop(begin, end, 1, [&](Value unit) {
      Value chunks = kernel.constantIndex(group.chunksPerRow);
      Value row = arith::DivUIOp::create(b, unit, chunks);
      kernel.setFacts(row, {1, group.rows});
      Value chunk = arith::RemUIOp::create(b, unit, chunks);
      Value from = arith::MulIOp::create(b, chunk, kernel.constantIndex(unitElements));
      kernel.setFacts(from, {unitElements, group.rowLength});
      emitRow(kernel, group, row, from, unitElements);
    });
  }

  static void emitPanel(KernelBuilder &kernel, const ResultGroup &group, Value panel) {
    kernel.setFacts(panel, {1, group.units()});
    int64_t dim = group.panels.getDim();
    SmallVector<int64_t> others(group.shape);
    others.erase(others.begin() + dim);
    forColumns(kernel, panel, group.shape[dim], [&](Value column, int64_t count) {
      kernel.loop(0, group.rowsPerUnit, 1, [&](Value row) {
        ElementEmitter emitter(kernel, panelWidth, count);
        ElementIndex index = emitter.indices().delinearize(LaneIndex(row), others);
        index.insert(index.begin() + dim, LaneIndex(column, 1));
        SmallVector<Value> elements;
        for (unsigned i : group.results)
          elements.push_back(emitter.pull(kernel.yield().getOperand(i), index));
        for (auto [i, element] : llvm::zip_equal(group.results, elements))
          emitter.storeResult(i, index, element);
      });
    });
  }

  /// Elements [from, from + count) of a row, as far as the row goes.
  static void emitRow(KernelBuilder &kernel, const ResultGroup &group, Value row, Value from,
                      int64_t count) {
    ImplicitLocOpBuilder &b = kernel.builder();
    int64_t whole = group.rowLength / mapLanes * mapLanes, rest = group.rowLength - whole;
    if (whole > 0) {
      Value to = kernel.constantIndex(whole);
      if (group.chunksPerRow > 1) {
        Value next = arith::AddIOp::create(b, from, kernel.constantIndex(count));
        to = arith::MinSIOp::create(b, next, to);
        kernel.setFacts(to, {mapLanes, whole});
      }
      kernel.loop(from, to, mapLanes, [&](Value column) {
        ElementEmitter emitter(kernel, mapLanes);
        emitElements(emitter, group, row, LaneIndex(column, 1));
      });
    }
    if (rest == 0)
      return;
    auto tail = [&] {
      // A power of two is a vector of its own.
      int64_t lanes = llvm::isPowerOf2_64(rest) ? rest : mapLanes;
      ElementEmitter emitter(kernel, lanes, rest);
      emitElements(emitter, group, row, LaneIndex(whole, 1));
    };
    if (group.chunksPerRow == 1)
      return tail();
    Value last = kernel.constantIndex((group.chunksPerRow - 1) * unitElements);
    kernel.when(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, from, last), tail);
  }

  static void emitElements(ElementEmitter &emitter, const ResultGroup &group, Value row,
                           LaneIndex column) {
    IndexMath &math = emitter.indices();
    LaneIndex linear = math.add(math.multiply(LaneIndex(row), group.rowLength), column);
    ElementIndex index = math.delinearize(LaneIndex(row), group.shape.drop_back(group.rowDims));
    llvm::append_range(index, math.delinearize(column, group.shape.take_back(group.rowDims)));
    SmallVector<Value> elements;
    for (unsigned i : group.results)
      elements.push_back(emitter.pull(emitter.kernel().yield().getOperand(i), index));
    for (auto [i, element] : llvm::zip_equal(group.results, elements))
      emitter.store(element, emitter.kernel().result(i), linear);
  }
};

} // namespace

const KernelSchedule &kernels::mapSchedule() {
  static const MapSchedule schedule;
  return schedule;
}
