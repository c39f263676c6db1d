# Helpers that every folder uses. One function a kind of target.

option(SPILLWAY_RUNTIME_ONLY "Build the runtime, its tools and its tests only (no LLVM needed)" OFF)

function(spillway_sanitize name)
  if(SPILLWAY_SANITIZE)
    target_compile_options(${name} PUBLIC -fsanitize=${SPILLWAY_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${name} PUBLIC -fsanitize=${SPILLWAY_SANITIZE})
  endif()
endfunction()

if(NOT SPILLWAY_RUNTIME_ONLY)
  set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir CACHE PATH "Where MLIRConfig.cmake lies")
  find_package(MLIR REQUIRED CONFIG)
  list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
  include(TableGen)
  include(AddLLVM)
  include(AddMLIR)
  include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  # MLIR's headers take seconds a file; precompiled once they take a fraction.
  # The flag, and options and a name without the place of this tree, keep the result the same from
  # build to build and from tree to tree, for ccache (which looks into no -Xclang).
  set(CMAKE_CXX_COMPILE_OPTIONS_CREATE_PCH -Xclang -emit-pch -Xclang -include -Xclang cmake/Precompiled.h
      -x c++-header)
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
  add_library(SpillwayPrecompiled STATIC ${PROJECT_SOURCE_DIR}/cmake/Precompiled.cpp)
  target_include_directories(SpillwayPrecompiled SYSTEM PRIVATE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_precompile_headers(SpillwayPrecompiled PRIVATE <cmake/Precompiled.h>)
  target_compile_options(SpillwayPrecompiled PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  spillway_sanitize(SpillwayPrecompiled)
  set(SPILLWAY_LLVM_BIN ${LLVM_TOOLS_BINARY_DIR})
endif()

# spillway_runtime_library(NAME SOURCES... LINK libs...): code of runtime/, free of LLVM.
function(spillway_runtime_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  spillway_sanitize(${name})
endfunction()

# spillway_library(NAME SOURCES... LINK libs...): code over MLIR. Links the two
# dylibs and nothing else of LLVM's.
function(spillway_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}
                                            ${PROJECT_BINARY_DIR}/include)
  target_include_directories(${name} SYSTEM PUBLIC ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  spillway_sanitize(${name})
  target_precompile_headers(${name} REUSE_FROM SpillwayPrecompiled)
  target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
endfunction()

# spillway_tablegen(TARGET TD file OUT outputs... ): pairs "file.inc;-gen-flag".
function(spillway_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest output flags)
    separate_arguments(flags)
    mlir_tablegen(${output} ${flags})
  endwhile()
  add_public_tablegen_target(${target})
endfunction()

# spillway_tool(NAME [PLUGINS] SOURCES... LINK libs...): a program. With PLUGINS its symbols are there for the
# shared objects that it loads.
function(spillway_tool name)
  cmake_parse_arguments(ARG "PLUGINS" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  set_target_properties(${name} PROPERTIES ENABLE_EXPORTS ${ARG_PLUGINS})
  install(TARGETS ${name})
endfunction()
