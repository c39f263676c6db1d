#!/usr/bin/env bash
# A training step of a GPT-2 of 124 M parameters (4 x 256, AdamW) whose states stream from and to the drive: its time
# over the longer of the step with all in memory and its transfers alone, under a throttle at which these
# take as long, and on the bare disk. Activations are kept, so that both steps compute the same.
#   bench/train_overlap.sh BUILD [FOLDER] [MEMORY] [ROUNDS]
# FOLDER (default: overlap-files) keeps the model between runs; it takes 12 GB.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "${1:?usage: train_overlap.sh BUILD [FOLDER] [MEMORY] [ROUNDS]}" && pwd)/bin
mkdir -p "${2:-overlap-files}"
cd "${2:-overlap-files}"
memory=${3:-700MiB} rounds=${4:-3}

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
"$bin/spillway" replan resident.spill -o streamed.spill --memory "$memory" --activations keep --machine machine.json
cp -r streamed.spill transfers.spill

measure() {
  "$bin/overlap_bench" resident.spill streamed.spill --transfers transfers.spill "${input[@]}" --rounds "$rounds" "$@"
}
echo "the bare disk"
measure | tee bare.txt
rates=$(awk 'END { printf "--throttle-read %d --throttle-write %d", $1 * 1e12 / $5, $3 * 1e12 / $5 }' bare.txt)
echo "throttled (ratio at most 1.10)"
# shellcheck disable=SC2086
measure $rates | tail -n 1
