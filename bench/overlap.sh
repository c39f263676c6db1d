#!/usr/bin/env bash
# A GPT-2 of 355 M parameters in 256 MiB, its reads throttled to the bandwidth at which they
# take as long as its compute, and on the bare disk: step time over the longer of compute
# alone and reads alone, at batch 1 and 4.
#   bench/overlap.sh BUILD [FOLDER] [BATCHES] [THREADS]
# FOLDER (default: overlap-files) keeps the model between runs; it takes 3 GB. Fewer THREADS than
# cores compute longer, so the bandwidth in question comes within reach of a slower drive.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:?usage: overlap.sh BUILD [FOLDER] [BATCHES]}" && pwd)/bin
mkdir -p "${2:-overlap-files}"
cd "${2:-overlap-files}"

[ -f gpt2.onnx ] || "$bin/spillway-modelgen" gpt2 gpt2.onnx --layers 24 --hidden 1024 --heads 16 \
  --vocab 50257 --ctx 1024 --ffn 4096 --dynamic --outputs logits --external gpt2.bin

# The machine as measured: f32 rate of the resident step, and the bandwidth in question.
machine() { # bundle of the step, stats of the resident step, bundle that reads
  python3 - "$@" <<'PYTHON'
import json, sys
plan, stats, streamed = (json.load(open(path)) for path in sys.argv[1:])
seconds = stats["step_ms_median"] / 1e3
predicted = plan["step"]["predicted_seconds"]
print(json.dumps({"flops_per_thread": {"f32": 9e10 * predicted / seconds},
                  "channels": {"read": {"bytes_per_second":
                      streamed["step"]["channels"]["read"]["bytes"] / seconds}}}))
PYTHON
}

threads=(${4:+--threads "$4"})
for batch in ${3:-1 4}; do
  python3 "$here/../examples/make_ids.py" "ids$batch.npy" "$batch" 128 50257
  input=(--input "input_ids=ids$batch.npy")
  rm -rf resident.spill streamed.spill machine.json
  "$bin/spillway" compile gpt2.onnx -o resident.spill --dim "batch=$batch" --dim sequence=128 "${threads[@]}"
  "$bin/spillway" run resident.spill "${input[@]}" --repeat 5 --stats resident.json > /dev/null
  "$bin/spillway" replan resident.spill -o streamed.spill --memory 256MiB
  # What streams depends on the bandwidth a little: the second plan is made for its own bytes.
  for pass in 1 2; do
    machine resident.spill/plan.json resident.json streamed.spill/plan.json > machine.json
    rm -rf streamed.spill
    "$bin/spillway" replan resident.spill -o streamed.spill --memory 256MiB --machine machine.json
  done
  bandwidth=$(python3 -c 'import json; print(int(json.load(open("machine.json"))["channels"]["read"]["bytes_per_second"]))')
  echo "batch $batch, throttled (ratio at most 1.10), then the bare disk"
  "$bin/overlap_bench" resident.spill streamed.spill "${input[@]}" --throttle-read "$bandwidth"
  "$bin/overlap_bench" resident.spill streamed.spill "${input[@]}" | tail -n 1
done
