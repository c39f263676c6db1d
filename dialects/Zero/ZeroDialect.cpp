#include "dialects/Zero/Zero.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace spillway::zero;

#include "dialects/Zero/ZeroDialect.cpp.inc"
#include "dialects/Zero/ZeroEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Zero/ZeroAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Zero/ZeroTypes.cpp.inc"

void ZeroDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Zero/ZeroAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/Zero/ZeroTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/Zero/ZeroOps.cpp.inc"
      >();
}
