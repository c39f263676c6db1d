#!/usr/bin/env bash
# Training steps of a GPT-2 of 124 M parameters (4 x 256, AdamW) whose states stream from and to the drive: their time
# over the longer of the step with all in memory and its transfers alone, on the bare disk, and under throttles at
# which the transfers of the plan for this drive would take as long: its rates made lower by one factor; and one rate for each
# direction, so that reads and writes both take that long. The step is planned anew for them, and may move less then.
# Activations are kept, so that both steps compute the same. A core that this machine's host needs to move bytes computes
# nothing meanwhile; with fewer THREADS than cores there is one for it, and `vmstat` tells what is stolen.
# With `offload` for MEMORY: all states stay, and what waits for the backward half goes to the drive, which takes it
# at rates at which its bytes need half of the time that the step computes, each way.
#   bench/train_overlap.sh BUILD [FOLDER] [MEMORY|offload] [ROUNDS] [THREADS]
# FOLDER (default: overlap-files) keeps the model between runs; it takes 12 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:?usage: train_overlap.sh BUILD [FOLDER] [MEMORY|offload] [ROUNDS] [THREADS]}" && pwd)/bin
mkdir -p "${2:-overlap-files}"
cd "${2:-overlap-files}"
memory=${3:-1600MiB} rounds=${4:-3} threads=${5:-$(nproc)}

[ -f train.onnx ] || "$bin/spillway-modelgen" gpt2 train.onnx --layers 12 --hidden 768 --heads 12 \
  --vocab 50257 --ctx 1024 --ffn 3072 --dynamic --outputs loss --external train.bin
python3 - <<'PYTHON'
import numpy
tokens = numpy.random.default_rng(0).integers(0, 50257, (4, 257), dtype=numpy.int64)
numpy.save("ids.npy", tokens[:, :-1])
numpy.save("labels.npy", tokens[:, 1:])
numpy.save("lr.npy", numpy.float64(1e-4))
numpy.save("step.npy", numpy.float64(1))
PYTHON
input=(--input input_ids=ids.npy --input labels=labels.npy --input lr=lr.npy --input step=step.npy)
rm -rf resident.spill streamed.spill transfers.spill
"$bin/spillway" calibrate -o machine.json --folder . --threads "$threads"
"$bin/spillway" compile train.onnx -o resident.spill --train --loss loss --dim batch=4 --dim sequence=256 --activations keep \
  --threads "$threads" --machine machine.json
if [ "$memory" = offload ]; then
  streamed=(--memory all --activations offload --machine machine.json)
else
  streamed=(--memory "$memory" --activations keep --machine machine.json)
fi
plan_streamed() {
  rm -rf streamed.spill transfers.spill
  "$bin/spillway" replan resident.spill -o streamed.spill "${streamed[@]}"
  cp -r streamed.spill transfers.spill
}
plan_streamed
"$bin/spillway" inspect streamed.spill --json >streamed.json

measure() {
  "$bin/overlap_bench" resident.spill streamed.spill --transfers transfers.spill "${input[@]}" --steps 2 --rounds "$rounds" "$@"
}
echo "the bare disk"
measure | tee bare.txt

# What the planner is told of the machine: this drive, and cores that compute the step in the time that was measured.
"$bin/spillway" inspect resident.spill --json >resident.json
python3 - <<'PYTHON'
import json

machine, measured = json.load(open("machine.json")), float(open("bare.txt").read().split()[-6]) * 1e-3
share = json.load(open("resident.json"))["plan"]["step"]["predicted_seconds"] / measured
for kind in machine["flops_per_thread"]:
    machine["flops_per_thread"][kind] *= share
machine["memory_bytes_per_second"] *= share
json.dump(machine, open("calibrated.json", "w"))
PYTHON

# Rates at which the bytes that the plan for this drive moves take $2 of the step that computes alone: each direction's own
# (`each`), or the drive's by one factor (`drive`). Plans anew for them.
throttled() {
  python3 - "$1" "$2" >rates.txt <<'PYTHON'
import json
import sys

kind, share = sys.argv[1], float(sys.argv[2])
seconds = float(open("bare.txt").read().split()[-6]) * 1e-3 * share
streamed, machine = json.load(open("streamed.json")), json.load(open("calibrated.json"))
channels = [machine["channels"][name] for name in ("read", "write")]
moved = [streamed["read_bytes_step"], streamed["write_bytes_step"]]
rates = [channel["bytes_per_second"] for channel in channels]
factors = [bytes / seconds / rate for bytes, rate in zip(moved, rates)]
if kind == "drive":
    factors = [max(factors)] * 2
for channel, rate, factor in zip(channels, rates, factors):
    channel["bytes_per_second"] = rate * factor
json.dump(machine, open("machine.json", "w"))
print(*(int(rate * factor) for rate, factor in zip(rates, factors)))
PYTHON
  plan_streamed
  measure --throttle-read "$(cut -d ' ' -f 1 rates.txt)" --throttle-write "$(cut -d ' ' -f 2 rates.txt)" | tail -n 1
}
if [ "$memory" = offload ]; then
  echo "throttled: each direction takes half of the step (ratio at most 1.05)"
  throttled each 0.5
  exit
fi
echo "throttled: such a drive, slower (ratio at most 1.10)"
throttled drive 1
echo "throttled: one rate for reads and one for writes (ratio at most 1.10)"
throttled each 1
