#include "lib/Import/InitialValues.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace spillway;
using namespace spillway::onnx;

namespace {

Location locationOf(MLIRContext *context, const Twine &what) { return NameLoc::get(StringAttr::get(context, what)); }

/// The first ones, and how many more there are.
std::string listed(ArrayRef<std::string> names) {
  constexpr size_t atMost = 8;
  std::string text;
  for (const std::string &name : names.take_front(atMost))
    text += (text.empty() ? "" : ", ") + name;
  if (names.size() > atMost)
    text += " and " + std::to_string(names.size() - atMost) + " more";
  return text;
}

std::string inQuotes(StringRef name) { return ("'" + name + "'").str(); }

std::string text(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

} // namespace

FailureOr<InitialValues> InitialValues::open(StringRef path, MLIRContext *context) {
  Location location = locationOf(context, path);
  FailureOr<OpenModel> model = OpenModel::open(path, location);
  if (failed(model))
    return failure();
  InitialValues values(std::move(*model), location);
  for (const TensorMessage &tensor : values.model.message.graph->initializers)
    values.tensors.try_emplace(tensor.name, &tensor);
  return values;
}

LogicalResult InitialValues::replace(StringRef name, ImportedTensor &tensor) {
  if (!isParameter(tensor.type))
    return success();
  const TensorMessage *found = tensors.lookup(name);
  if (!found) {
    missing.push_back(inQuotes(name));
    return success();
  }
  seen.insert(name);
  Type element = elementType(found->dataType, location.getContext());
  if (element != tensor.type.getElementType() || ArrayRef(found->dims) != tensor.type.getShape()) {
    std::string other;
    for (int64_t dim : found->dims)
      other += std::to_string(dim) + "x";
    other += element ? text(element) : dataTypeName(found->dataType);
    mismatched.push_back(inQuotes(name) + " is " + text(tensor.type) + ", there tensor<" + other + ">");
    return success();
  }
  Location place = locationOf(location.getContext(),
                              "initializer " + inQuotes(name) + " of " + inQuotes(model.file.path.string()));
  FailureOr<ImportedTensor> values = importTensor(*found, model.file, place);
  if (failed(values))
    return failure();
  tensor = *values;
  replaced.push_back(name.str());
  return success();
}

LogicalResult InitialValues::report() const {
  std::vector<std::string> unused;
  for (const TensorMessage &tensor : model.message.graph->initializers)
    if (Type element = elementType(tensor.dataType, location.getContext());
        isa_and_present<FloatType>(element) && !tensor.dims.empty() && !seen.contains(tensor.name))
      unused.push_back(inQuotes(tensor.name));
  if (!mismatched.empty())
    emitWarning(location) << "parameters of another type begin with their own values: " << listed(mismatched);
  if (!missing.empty())
    emitWarning(location) << "parameters that it lacks begin with their own values: " << listed(missing);
  if (!unused.empty())
    emitWarning(location) << "initializers that no parameter is called as: " << listed(unused);
  if (replaced.empty())
    return emitError(location) << "no parameter begins with its values: none has the name and type of an initializer";
  emitRemark(location) << replaced.size() << (replaced.size() == 1 ? " parameter begins" : " parameters begin") << " with its values";
  return success();
}
