#!/usr/bin/env bash
# Trains a GPT-2 of 10.7 M parameters on bytes, from random weights, on the licences and changelogs that every Debian system
# has, within 64 MiB: half of what its weights and AdamW's moments alone take.
#   examples/pretrain_bytes.sh [FOLDER] [STEPS]
# Needs the programs built (./demo or ./check) and python3-numpy.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${SPILLWAY_BUILD:-$here/../build}/bin
bin=$(cd "$bin" && pwd)
folder=${1:-pretrain-files} steps=${2:-100}
mkdir -p "$folder"
cd "$folder"

"${PYTHON:-python3}" - <<'PYTHON'
import gzip, pathlib
import numpy
texts = [path.read_bytes() for path in sorted(pathlib.Path("/usr/share/common-licenses").iterdir())]
for path in sorted(pathlib.Path("/usr/share/doc").glob("*/changelog*.gz"))[:60]:
    texts.append(gzip.decompress(path.read_bytes())[:60000])
text = numpy.frombuffer(b"".join(texts), numpy.uint8).astype(numpy.int64)
count = (len(text) - 1) // 128
numpy.save("tokens.npy", text[:count * 128].reshape(count, 128))
numpy.save("labels.npy", text[1:count * 128 + 1].reshape(count, 128))
print(f"{len(text)} bytes of text, {count} samples")
PYTHON
"$bin/spillway-modelgen" gpt2 bytes.onnx --layers 6 --hidden 384 --heads 6 --ffn 1536 --vocab 256 --ctx 128 --dynamic --outputs loss
"$bin/spillway" compile bytes.onnx -o bytes.spill --train --loss loss --optimizer adamw --optimizer-option weight_decay=0.1 \
  --clip 1 --dim batch=8 --dim sequence=128 --memory 64MiB
"$bin/spillway" inspect bytes.spill | grep -E '^(host arena|states|activations|smallest)'
"$bin/spillway" train bytes.spill --data input_ids=tokens.npy --data labels=labels.npy --steps "$steps" --lr 1e-3 --warmup 10 \
  --schedule cosine --log metrics.jsonl --stats stats.json
"$bin/spillway" export bytes.spill -o trained.onnx
"${PYTHON:-python3}" - <<'PYTHON'
import json
losses = [json.loads(line)["loss"] for line in open("metrics.jsonl")]
peak = json.load(open("stats.json"))["peak_rss_bytes"] / 2**20
print(f"loss of the first step {losses[0]:.3f} (a guess: {8 * 0.6931:.3f}), of the last five {sum(losses[-5:]) / 5:.3f}; "
      f"peak resident {peak:.0f} MiB; trained.onnx")
PYTHON
