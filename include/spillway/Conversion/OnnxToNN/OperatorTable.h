// Which ONNX operators convert to nn: one table, one row for each version of an
// operator whose signature or meaning differs.
#pragma once

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <vector>

namespace spillway {

class Node;
using Handler = mlir::LogicalResult (*)(Node &);

/// Element types that an operator's first input may have.
enum class TypeClass { any, numeric, floats, integers, boolean };

struct Operator {
  llvm::StringLiteral name;
  /// First opset version of its domain that this row describes.
  int64_t since;
  Handler convert;
  /// Inputs that must be there, inputs that may be, outputs that may be asked for.
  unsigned minInputs, maxInputs, maxOutputs = 1;
  TypeClass types = TypeClass::any;
  /// What does not convert, for the documentation; empty where all does.
  llvm::StringLiteral limits = "";
  llvm::StringLiteral domain = "";
  /// Whether inputs may be sequences.
  bool takesSequences = false;
};

inline constexpr unsigned anyNumber = ~0u;

/// The domain of ONNX Runtime's own operators.
inline constexpr llvm::StringLiteral microsoft = "com.microsoft";

class OperatorTable {
public:
  /// The table of all families, and of plugins.
  static const OperatorTable &get() { return instance(); }
  /// Adds rows to it, for the models that are converted from then on. Not thread safe; strings of the
  /// rows must outlive the process's conversions.
  static void extend(std::initializer_list<Operator> rows) { instance().add(rows); }

  void add(std::initializer_list<Operator> rows);

  struct Match {
    const Operator *row = nullptr;
    /// The operator appeared in a later opset than the model declares.
    bool isNewer = false;
  };
  /// The row with the highest `since` that is not above `version`; the lowest one
  /// where all are above it; none for an unknown operator.
  Match find(llvm::StringRef domain, llvm::StringRef name, int64_t version) const;

  /// Rows sorted by domain, name and version.
  std::vector<const Operator *> sorted() const;

private:
  static OperatorTable &instance();

  /// By "domain:name"; rows in ascending order of `since`.
  llvm::StringMap<std::vector<Operator>> rows;
};

// Each family adds its rows.
void addActivations(OperatorTable &table);
void addArithmetic(OperatorTable &table);
void addAttention(OperatorTable &table);
void addCasts(OperatorTable &table);
void addContribAttention(OperatorTable &table);
void addContractions(OperatorTable &table);
void addControlFlow(OperatorTable &table);
void addConvolutions(OperatorTable &table);
void addDeterminants(OperatorTable &table);
void addDropout(OperatorTable &table);
void addEinsums(OperatorTable &table);
void addFlexAttention(OperatorTable &table);
void addImageMovement(OperatorTable &table);
void addImageNormalizations(OperatorTable &table);
void addIndexing(OperatorTable &table);
void addLinearAttention(OperatorTable &table);
void addLogic(OperatorTable &table);
void addLosses(OperatorTable &table);
void addMovement(OperatorTable &table);
void addNGrams(OperatorTable &table);
void addNormalizations(OperatorTable &table);
void addOptimizers(OperatorTable &table);
void addPooling(OperatorTable &table);
void addQuantization(OperatorTable &table);
void addQuantizedImages(OperatorTable &table);
void addRecurrent(OperatorTable &table);
void addReductions(OperatorTable &table);
void addResizing(OperatorTable &table);
void addSampling(OperatorTable &table);
void addScatters(OperatorTable &table);
void addSelections(OperatorTable &table);
void addSequences(OperatorTable &table);
void addShapes(OperatorTable &table);
void addSignals(OperatorTable &table);

} // namespace spillway
