#include "tools/spillway-compiler/Commands.h"

#include "spillway/Pipelines/Registration.h"
#include "spillway/Support/Errors.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"

#include <regex>

using namespace mlir;
using namespace spillway;

namespace {

/// Errors past this many are counted, not printed.
constexpr unsigned maxErrors = 20;

/// Types of tensors as the other tools write them: f32[32,10] for tensor<32x10xf32>.
std::string withReadableTypes(std::string text) {
  static const std::regex type("'?tensor<((?:[0-9?]+x)*)([a-z][a-z0-9]*)>'?");
  for (std::smatch found; std::regex_search(text, found, type);) {
    std::string sizes = found[1].str();
    if (!sizes.empty())
      sizes.pop_back();
    std::ranges::replace(sizes, 'x', ',');
    text = found.prefix().str() + found[2].str() + "[" + sizes + "]" + found.suffix().str();
  }
  return text;
}

/// Where the diagnostics of a context go.
class Report {
public:
  Report(ErrorKind *kind, std::string *errors) : kind(kind), errors(errors) {}
  ~Report() {
    if (count > maxErrors)
      print("spillway: error: and " + std::to_string(count - maxErrors) + " more errors");
  }

  void add(Diagnostic &diagnostic);

private:
  void print(const std::string &text) {
    if (errors)
      *errors += text + "\n";
    else
      llvm::errs() << text << "\n";
  }

  ErrorKind *kind;
  std::string *errors;
  unsigned count = 0;
};

/// The ONNX name, or the place in a file of MLIR, that a location stands for, if any.
std::string describe(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto place = dyn_cast<FileLineColLoc>(location))
    return llvm::formatv("{0}:{1}:{2}", place.getFilename(), place.getLine(), place.getColumn());
  if (auto fused = dyn_cast<FusedLoc>(location))
    return fused.getLocations().empty() ? "" : describe(fused.getLocations().front());
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return describe(call.getCallee());
  return "";
}

StringRef severity(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  return "error";
}

void Report::add(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
    if (kind)
      *kind = std::max(*kind, errorKind(diagnostic));
    if (++count > maxErrors)
      return;
  }
  std::string place = describe(diagnostic.getLocation());
  std::string text = ("spillway: " + severity(diagnostic.getSeverity()) + ": " +
                      (place.empty() ? "" : place + ": ") + withReadableTypes(diagnostic.str()))
                         .str();
  for (Diagnostic &note : diagnostic.getNotes())
    text += "\n  note: " + withReadableTypes(note.str());
  print(text);
}

} // namespace

std::unique_ptr<MLIRContext> spillway::makeContext(const DialectRegistry &plugins,
                                                   ErrorKind *kind, std::string *errors) {
  DialectRegistry registry;
  registerDialects(registry);
  plugins.appendTo(registry);
  auto context = std::make_unique<MLIRContext>(registry);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  context->getDiagEngine().registerHandler(
      [report = std::make_unique<Report>(kind, errors)](Diagnostic &diagnostic) {
        report->add(diagnostic);
        return success();
      });
  return context;
}
