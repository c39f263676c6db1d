"""check_example.py FOLDER STEPS MEMORY FALL: an example that trained in FOLDER for STEPS steps within MEMORY MiB: the loss of its last five
steps is lower than its first by FALL at least, and the process took 32 MiB beside its budget at most."""

import json
import pathlib
import sys

folder, steps, memory, fall = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
losses = [json.loads(line)["loss"] for line in open(folder / "metrics.jsonl")]
assert len(losses) == steps
assert losses[0] - sum(losses[-5:]) / 5 >= fall, losses
peak = json.load(open(folder / "stats.json"))["peak_rss_bytes"] / 2**20
assert peak <= memory + 32, peak
assert (folder / "trained.onnx").stat().st_size > 0
