// What each operation costs.

#include "dialects/NN/NN.h"

#include <cmath>

using namespace mlir;
using namespace spillway::nn;

namespace {

double elements(Value value) {
  return static_cast<double>(cast<RankedTensorType>(value.getType()).getNumElements());
}

/// Floating-point operations of an elementary function's polynomial, argument
/// reduction included.
constexpr double elementaryFlops = 20;

/// Operations of 20 rounds of Threefry, on integers.
constexpr double randomOperations = 120;

template <typename Op, int flopsPerElement>
struct ElementwiseCost
    : public CostOpInterface::ExternalModel<ElementwiseCost<Op, flopsPerElement>, Op> {
  double getFlops(Operation *op) const { return flopsPerElement * elements(op->getResult(0)); }
};

template <int flopsPerElement, typename... Ops> void attach(MLIRContext *context) {
  (Ops::template attachInterface<ElementwiseCost<Ops, flopsPerElement>>(*context), ...);
}

} // namespace

void spillway::nn::registerExternalModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, arith::ArithDialect *) {
    attach<1, arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp, arith::RemFOp,
           arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::CmpFOp, arith::AddIOp,
           arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
           arith::RemUIOp, arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp,
           arith::CmpIOp, arith::SelectOp, arith::AndIOp, arith::OrIOp, arith::XOrIOp,
           arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp, arith::ExtFOp, arith::TruncFOp,
           arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::SIToFPOp, arith::UIToFPOp,
           arith::FPToSIOp, arith::FPToUIOp, arith::BitcastOp>(context);
    attach<0, arith::ConstantOp>(context);
  });
  registry.addExtension(+[](MLIRContext *context, math::MathDialect *) {
    attach<1, math::AbsFOp, math::AbsIOp, math::CeilOp, math::FloorOp, math::RoundEvenOp,
           math::TruncOp, math::CopySignOp>(context);
    attach<2, math::FmaOp>(context);
    attach<4, math::SqrtOp, math::RsqrtOp>(context);
    attach<static_cast<int>(elementaryFlops), math::ExpOp, math::ExpM1Op, math::LogOp, math::Log1pOp,
           math::TanhOp, math::ErfOp, math::SinOp, math::CosOp, math::TanOp, math::PowFOp, math::AsinOp,
           math::AcosOp, math::AtanOp, math::SinhOp, math::CoshOp, math::AsinhOp, math::AcoshOp,
           math::AtanhOp>(context);
  });
}

CostAttr spillway::nn::costOf(KernelOp kernel) {
  if (auto cost = kernel.getCostAttr())
    return cost;
  double flops = 0;
  kernel.walk([&](CostOpInterface op) { flops += op.getFlops(); });
  int64_t bytes = 0, shared = 0;
  Type arithmetic;
  // Calls for tiles of depth each take a part of the left operand, and go on with all results.
  kernel.walk([&](MatmulOp op) {
    Type left = op.getLhs().getType().getElementType();
    if (left.isBF16() && left == op.getRhs().getType().getElementType())
      arithmetic = left;
    auto rhs = dyn_cast<BlockArgument>(op.getRhs());
    bool isCutInDepth = rhs && kernel.getArgAttr(rhs.getArgNumber(), depthTiledAttrName);
    shared += isCutInDepth ? 2 * tensorBytes(op.getType()) : tensorBytes(op.getLhs().getType());
  });
  kernel.walk([&](ConvOp op) { shared += tensorBytes(op.getInput().getType()); });
  for (ArrayRef<Type> types : {kernel.getArgumentTypes(), kernel.getResultTypes()})
    for (Type type : types)
      bytes += tensorBytes(cast<RankedTensorType>(type));
  return CostAttr::get(kernel.getContext(), static_cast<int64_t>(flops), bytes, shared, arithmetic);
}

double ReshapeOp::getFlops() { return 0; }
double BroadcastOp::getFlops() { return 0; }
double TransposeOp::getFlops() { return 0; }
double SliceOp::getFlops() { return 0; }
double WindowsOp::getFlops() { return 0; }
double ConcatOp::getFlops() { return 0; }
double PadOp::getFlops() { return 0; }
double IotaOp::getFlops() { return 0; }
double RandomOp::getFlops() { return randomOperations * elements(getResult()); }
double GatherOp::getFlops() { return 0; }
double GatherElementsOp::getFlops() { return 0; }
double GatherNDOp::getFlops() { return 0; }
double ConvOp::getFlops() { return 2.0 * elements(getResult()) * getDepth(); }
double UnpackOp::getFlops() { return 2 * elements(getResult()); }
double MatmulOp::getFlops() { return 2.0 * getBatch() * getM() * getN() * getK(); }

double AttentionOp::getFlops() {
  ArrayRef<int64_t> q = getQuery().getType().getShape(), v = getValue().getType().getShape();
  double scores = static_cast<double>(q[0]) * q[1] * q[2] * v[2];
  return scores * (2.0 * q[3] + 2.0 * v[3] + elementaryFlops);
}

double AddRowsOp::getFlops() { return elements(getUpdates()); }
double ReduceOp::getFlops() { return elements(getOperand()); }
double SoftmaxOp::getFlops() { return (elementaryFlops + 4) * elements(getOperand()); }
double LogSoftmaxOp::getFlops() { return (elementaryFlops + 4) * elements(getOperand()); }
double LayerNormOp::getFlops() { return 8 * elements(getOperand()); }
double RmsNormOp::getFlops() { return 5 * elements(getOperand()); }
double CumsumOp::getFlops() { return elements(getOperand()); }

double ArgsortOp::getFlops() {
  double length = static_cast<double>(getOperand().getType().getDimSize(getDim()));
  return elements(getOperand()) * std::ceil(std::log2(std::max(2.0, length)));
}

double ScatterOp::getFlops() { return elements(getUpdates()); }
