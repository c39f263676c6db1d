#!/usr/bin/env bash
# A training step of a GPT-2 of 124 M parameters (4 x 256, AdamW) whose states stream from and to the drive: its time
# over the longer of the step with all in memory and its transfers alone, on the bare disk, and under throttles at
# which these take as long: the drive's own rates made lower by one factor; and one rate for each direction, so that
# reads and writes both take that long. Activations are kept, so that both steps compute the same.
# With `offload` for MEMORY: all states stay, and what waits for the backward half goes to the drive, which takes it
# at rates at which its bytes need half of the time that the step computes, each way.
#   bench/train_overlap.sh BUILD [FOLDER] [MEMORY|offload] [ROUNDS]
# FOLDER (default: overlap-files) keeps the model between runs; it takes 12 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:?usage: train_overlap.sh BUILD [FOLDER] [MEMORY] [ROUNDS]}" && pwd)/bin
mkdir -p "${2:-overlap-files}"
cd "${2:-overlap-files}"
memory=${3:-1200MiB} rounds=${4:-3}

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
"$bin/spillway" compile train.onnx -o resident.spill --train --loss loss --dim batch=4 --dim sequence=256 --activations keep
"$bin/spillway" calibrate -o machine.json --folder .
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

measure() {
  "$bin/overlap_bench" resident.spill streamed.spill --transfers transfers.spill "${input[@]}" --steps 2 --rounds "$rounds" "$@"
}
echo "the bare disk"
measure | tee bare.txt
cp machine.json calibrated.json

# Plans anew for a drive of these rates, and runs on it.
throttled() {
  python3 - "$1" "$2" <<'PYTHON'
import json
import sys

machine = json.load(open("calibrated.json"))
for channel, rate in zip(("read", "write"), sys.argv[1:]):
    machine["channels"][channel]["bytes_per_second"] = float(rate)
json.dump(machine, open("machine.json", "w"))
PYTHON
  plan_streamed
  measure --throttle-read "$1" --throttle-write "$2" | tail -n 1
}
# Rates at which the bytes of each direction, those of `bare.txt`, take $1 of the step that computes alone.
each_at() {
  awk -v share="$1" 'END { printf "%d %d\n", $1 * 1e12 / $5 / share, $3 * 1e12 / $5 / share }' bare.txt
}
if [ "$memory" = offload ]; then
  echo "throttled: each direction takes half of the step (ratio at most 1.05)"
  throttled $(each_at 0.5)
  exit
fi
# The drive's own rates by one factor, at which the slower direction takes as long as the step.
slower_drive() {
  python3 - $(each_at 1) <<'PYTHON'
import json
import sys

channels = json.load(open("calibrated.json"))["channels"]
rates = [channels[channel]["bytes_per_second"] for channel in ("read", "write")]
factor = max(float(asked) / rate for asked, rate in zip(sys.argv[1:], rates))
print(*(int(factor * rate) for rate in rates))
PYTHON
}
echo "throttled: such a drive, slower; its transfers take as long as the step (ratio at most 1.10)"
throttled $(slower_drive)
echo "throttled: reads and writes each take as long as the step"
throttled $(each_at 1)
