#!/usr/bin/env bash
# The node cases of the newest onnx package that ships them, which Debian does not have. They are fetched
# once into BUILD/onnx-cases, so this is no part of ./check.
#
#     test/Conformance/newest_onnx.sh [BUILD] [spillway verify's options]
#
# Needs pip and a package index. Inputs whose values must be known are constants; the cases in
# Onnx/Inputs/node-1.22.txt must fail, all others pass.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-build}" && pwd)
shift || true
version=1.22.0
cases=$build/onnx-cases/$version

if [ ! -d "$cases/onnx" ]; then
  mkdir -p "$cases"
  python3 -m pip download --quiet --no-deps --only-binary :all: --dest "$cases" "onnx==$version"
  python3 -m zipfile -e "$cases"/onnx-*.whl "$cases/unpacked"
  mv "$cases/unpacked/onnx" "$cases/onnx"
fi

# The cases listed fail for the reasons that stand beside them; one of them that passes fails the run.
mkdir -p "$build/conformance-newest"
exec "$build/bin/spillway" verify --constant-inputs --atol 1e-7 --rtol 1e-3 --threads 1 \
  --expected-failures "$here/Onnx/Inputs/node-1.22.txt" \
  --junit "$build/conformance-newest/node.xml" "$@" "$cases"/onnx/backend/test/data/node/*
