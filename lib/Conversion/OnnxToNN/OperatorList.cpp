#include "spillway/Conversion/OnnxToNN/OperatorTable.h"
#include "spillway/Conversion/OnnxToNN/Passes.h"

using namespace spillway;

namespace {

llvm::StringRef inputsOf(TypeClass types) {
  switch (types) {
  case TypeClass::any:
    return "any";
  case TypeClass::numeric:
    return "numbers";
  case TypeClass::floats:
    return "floats";
  case TypeClass::integers:
    return "integers";
  case TypeClass::boolean:
    return "bool";
  }
  llvm_unreachable("all classes are handled");
}

} // namespace

void spillway::printOperators(llvm::raw_ostream &os) {
  os << "# Operators\n\n"
        "Made by `spillway-opt --list-operators`; do not edit.\n\n"
        "`opset` is the first version of the operator's domain that a row stands for; it is in\n"
        "force up to the next row of the same operator. `types` are those of the first input:\n"
        "floats are f64, f32, f16 and bf16, integers i64, i32, i16, i8, u64, u32, u16 and u8,\n"
        "numbers both, any also bool. `Constant` of every form is part of the import.\n\n"
        "| operator | opset | types | limits |\n| --- | --- | --- | --- |\n";
  for (const Operator *row : OperatorTable::get().sorted()) {
    os << "| ";
    if (!row->domain.empty())
      os << row->domain << '.';
    os << row->name << " | " << row->since << " | " << inputsOf(row->types) << " | " << row->limits
       << " |\n";
  }
}
