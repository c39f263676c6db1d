"""Tests of the compiler's tools: one file a test, checked by FileCheck."""

import os
import shutil
import subprocess
import sys

import lit.formats

config.name = "Spillway"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "Fuzz"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.spillway_build, "test")

config.environment["PATH"] = os.pathsep.join(
    [config.spillway_bin, config.llvm_bin, os.environ.get("PATH", "")]
)

# One feature per tool that was built, so that a partial build skips what it cannot run.
if os.path.isdir(config.spillway_bin):
    config.available_features.update(os.listdir(config.spillway_bin))
with open("/proc/cpuinfo") as cpuinfo:
    flags = cpuinfo.read().split()
for feature, flag in (("avx512", "avx512f"), ("avx512-bf16", "avx512_bf16")):
    if flag in flags:
        config.available_features.add(feature)
# Whether tests may make a small file system of their own.
if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0 and os.geteuid() == 0:
    config.available_features.add("mount")
onnx_testdata = "/usr/share/libonnx-testdata/data"
if os.path.isdir(onnx_testdata):
    config.available_features.add("onnx-testdata")
config.substitutions.append(("%onnx_testdata", onnx_testdata))
if os.environ.get("SPILLWAY_TEST_PYPI"):
    config.available_features.add("pypi")
    config.environment.update({name: value for name, value in os.environ.items() if name.startswith("PIP_")})
if shutil.which("nvidia-smi"):
    config.available_features.add("cuda")
config.substitutions.append(("%python", sys.executable))
config.substitutions.append(("%bin", config.spillway_bin))
config.substitutions.append(("%spillway_source", config.spillway_source))
config.substitutions.append(("%spillway_build", config.spillway_build))
config.substitutions.append(("%plugin_flags", f"-DCMAKE_CXX_COMPILER={config.cxx_compiler} "
                             f"-DCMAKE_CXX_COMPILER_LAUNCHER={config.cxx_launcher}"))
