#!/usr/bin/env bash
# Fuzzes the readers with AddressSanitizer, one after the other.
#   [READERS="Npy TensorProto Bundle Table Import"] test/Fuzz/run.sh SECONDS [MODELS...]
# MODELS are folders whose .onnx, .pb and .npy files are seeds, beside small models and their bundles, which are made
# here. What is found lies in build-fuzz/<reader>/crash-* (timeout-*, oom-*); make it a file of
# test/Fuzz/Inputs/<reader>.
set -euo pipefail
seconds=${1:?usage: test/Fuzz/run.sh SECONDS [MODELS...]}
shift
models=()
for folder in "$@"; do models+=("$(realpath "$folder")"); done
cd "$(dirname "$0")/../.."
source=$PWD
./setup --sanitize
read -ra readers <<< "${READERS:-Npy TensorProto Bundle Table Import}"
cmake -S . -B build -G Ninja > build.configure.log
cmake --build build --target spillway spillway-compiler spillway-modelgen
cmake -S . -B build-fuzz -G Ninja -DSPILLWAY_FUZZ=ON -DSPILLWAY_SANITIZE=fuzzer-no-link,address > build-fuzz.configure.log
cmake --build build-fuzz --target "${readers[@]/%/Fuzzer}"

cd build-fuzz
seeds=$PWD/seeds
python3 "$source/test/Fuzz/make_seeds.py" "$source/build/bin" "$seeds" "$source/test" ${models[@]+"${models[@]}"}
# What MLIR's library takes from arenas is not told to AddressSanitizer, which our part of the templates tells what is free.
asan_options=allocator_may_return_null=1:allow_user_poisoning=0
failed=0
TIMEFORMAT="%U s of processor, %R s"
for reader in "${readers[@]}"; do
  mkdir -p "$reader/corpus"
  { time (cd "$reader" && ASAN_OPTIONS=$asan_options "../bin/${reader}Fuzzer" corpus "$seeds/$reader" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 > log 2>&1); } \
    2> "$reader/time" || failed=1
  echo "$reader: $(grep -hE 'number_of_executed_units|DONE|SUMMARY|processor' "$reader/log" "$reader/time" | tr '\n' ' ')"
done
exit $failed
