#include "dialects/Zero/Zero.h"
#include "spillway/Transforms/Zero/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace spillway::zero {
#define GEN_PASS_DEF_ZEROOUTLINECONSTANTSPASS
#include "spillway/Transforms/Zero/Passes.h.inc"
} // namespace spillway::zero

using namespace mlir;
using namespace spillway;
using namespace spillway::zero;

namespace {

class OutlineConstants : public zero::impl::ZeroOutlineConstantsPassBase<OutlineConstants> {
  void runOnOperation() override {
    SmallVector<arith::ConstantOp> constants;
    for (auto function : getOperation().getOps<func::FuncOp>())
      llvm::append_range(constants, function.getOps<arith::ConstantOp>());
    DenseMap<Attribute, StateOp> states;
    SymbolTable symbols(getOperation());
    for (arith::ConstantOp constant : constants) {
      auto elements = dyn_cast<ElementsAttr>(constant.getValue());
      if (!elements) {
        constant.emitOpError("is no tensor, as kernels take");
        return signalPassFailure();
      }
      StateOp &state = states[elements];
      if (!state)
        state = makeState(constant.getLoc(), elements, symbols);
      OpBuilder builder(constant);
      auto use = UseOp::create(builder, constant.getLoc(), constant.getType(),
                               state.getSymName(), /*tile=*/IntegerAttr());
      constant.replaceAllUsesWith(use.getResult());
      constant.erase();
    }
  }

  StateOp makeState(Location loc, ElementsAttr elements, SymbolTable &symbols) {
    ModuleOp module = getOperation();
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    OperationState operation(loc, StateOp::getOperationName());
    StateOp::Properties &properties = operation.getOrAddProperties<StateOp::Properties>();
    properties.sym_name = builder.getStringAttr("constant");
    properties.name = properties.sym_name;
    properties.type = TypeAttr::get(elements.getType());
    properties.role = RoleAttr::get(&getContext(), Role::constant);
    properties.source = elements;
    auto state = cast<StateOp>(builder.create(operation));
    symbols.insert(state);
    state.setName(state.getSymName());
    return state;
  }
};

} // namespace
