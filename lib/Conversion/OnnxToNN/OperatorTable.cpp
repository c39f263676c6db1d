#include "spillway/Conversion/OnnxToNN/OperatorTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace spillway;

namespace {

std::string keyOf(llvm::StringRef domain, llvm::StringRef name) { return (domain + ":" + name).str(); }

} // namespace

OperatorTable &OperatorTable::instance() {
  static OperatorTable table = [] {
    OperatorTable all;
    for (auto addFamily :
         {addActivations, addArithmetic, addAttention, addCasts, addContractions,
          addContribAttention, addControlFlow, addConvolutions, addDeterminants, addDropout, addEinsums, addFlexAttention,
          addImageMovement, addImageNormalizations, addIndexing, addLinearAttention, addLogic, addLosses, addMovement, addNGrams,
          addNormalizations, addOptimizers, addPooling, addQuantization,
          addQuantizedImages, addRecurrent,
          addReductions, addResizing, addSampling, addScatters, addSelections, addSequences,
          addShapes, addSignals})
      addFamily(all);
    return all;
  }();
  return table;
}

void OperatorTable::add(std::initializer_list<Operator> added) {
  for (const Operator &row : added) {
    std::vector<Operator> &versions = rows[keyOf(row.domain, row.name)];
    auto position = llvm::upper_bound(
        versions, row, [](const Operator &a, const Operator &b) { return a.since < b.since; });
    versions.insert(position, row);
  }
}

OperatorTable::Match OperatorTable::find(llvm::StringRef domain, llvm::StringRef name,
                                         int64_t version) const {
  auto found = rows.find(keyOf(domain, name));
  if (found == rows.end())
    return {};
  const std::vector<Operator> &versions = found->second;
  auto after = llvm::upper_bound(
      versions, version, [](int64_t wanted, const Operator &row) { return wanted < row.since; });
  if (after == versions.begin())
    return {&versions.front(), true};
  return {&*std::prev(after), false};
}

std::vector<const Operator *> OperatorTable::sorted() const {
  std::vector<const Operator *> all;
  for (const auto &entry : rows)
    for (const Operator &row : entry.second)
      all.push_back(&row);
  llvm::sort(all, [](const Operator *a, const Operator *b) {
    return std::tuple(a->domain, a->name, a->since) < std::tuple(b->domain, b->name, b->since);
  });
  return all;
}
