// The rt dialect: when a step does what, and at which address. See RtDialect.td.
#pragma once

#include "dialects/Zero/Zero.h"

#include "dialects/Rt/RtDialect.h.inc"
#include "dialects/Rt/RtEnums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/Rt/RtTypes.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Rt/RtAttrs.h.inc"
#include "dialects/Rt/RtInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/Rt/RtOps.h.inc"
