#include "spillway/StateSource/StateSource.h"
#include "spillway/Training/Passes.h"

#include <algorithm>
#include <array>
#include <map>

namespace spillway {
#define GEN_PASS_DEF_NNREPORTCOPIESPASS
#include "spillway/Training/Passes.h.inc"
} // namespace spillway

using namespace mlir;
using namespace spillway;

namespace {

/// The shape and some elements of a matrix.
using Fingerprint = std::pair<std::pair<int64_t, int64_t>, std::array<uint32_t, 64>>;

/// Of the matrix, or of its transpose; none where all elements are equal, as those of many fresh weights are.
FailureOr<std::optional<Fingerprint>> fingerprintOf(zero::StateOp state, StateSource &source, bool transposed) {
  int64_t rows = state.getTensorType().getDimSize(0), columns = state.getTensorType().getDimSize(1);
  Fingerprint fingerprint{transposed ? std::pair(columns, rows) : std::pair(rows, columns), {}};
  uint64_t place = 0;
  for (uint32_t &element : fingerprint.second) {
    // Places spread over the matrix: steps of the golden ratio, in 64 bits.
    place += 0x9e3779b97f4a7c15;
    int64_t first = static_cast<int64_t>((place >> 32) % fingerprint.first.first),
            second = static_cast<int64_t>((place & 0xffffffff) % fingerprint.first.second);
    int64_t at = transposed ? second * columns + first : first * columns + second;
    if (failed(source.read(at * sizeof(element), {reinterpret_cast<char *>(&element), sizeof(element)})))
      return failure();
  }
  if (std::ranges::count(fingerprint.second, fingerprint.second[0]) == std::ssize(fingerprint.second))
    return std::optional<Fingerprint>();
  return std::optional(fingerprint);
}

class NNReportCopiesPass : public spillway::impl::NNReportCopiesPassBase<NNReportCopiesPass> {
public:
  using NNReportCopiesPassBase::NNReportCopiesPassBase;

  void runOnOperation() override {
    std::map<Fingerprint, zero::StateOp> seen;
    std::string copies;
    for (auto state : getOperation().getOps<zero::StateOp>()) {
      if (!isTrainedMatrix(state))
        continue;
      FailureOr<std::unique_ptr<StateSource>> source = StateSource::open(state);
      if (failed(source))
        return signalPassFailure();
      std::optional<Fingerprint> own;
      for (bool transposed : {false, true}) {
        auto fingerprint = fingerprintOf(state, **source, transposed);
        if (failed(fingerprint))
          return signalPassFailure();
        if (!*fingerprint)
          break;
        if (!transposed)
          own = *fingerprint;
        if (auto found = seen.find(**fingerprint); found != seen.end()) {
          copies += (copies.empty() ? "'" : ", '") + state.getName().str() + "' (as '" + found->second.getName().str() + "'" +
                    (transposed ? ", transposed)" : ")");
          break;
        }
      }
      if (own)
        seen.emplace(*own, state);
    }
    if (!copies.empty())
      emitWarning(getOperation().getLoc())
          << "weights that hold the values of others train apart from them: " << copies
          << ". Exporters copy a tied weight, as where they fold its transpose; export without constant folding to train it as one";
  }

private:
  static bool isTrainedMatrix(zero::StateOp state) {
    RankedTensorType type = state.getTensorType();
    return state.getRole() == zero::Role::parameter && state.getRewritten() && type.getRank() == 2 &&
           type.getElementType().isF32() && type.getNumElements() > 1;
  }
};

} // namespace
