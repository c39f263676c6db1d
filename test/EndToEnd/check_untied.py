"""check_untied.py MERGED UNTIED APART: trains the bundles MERGED.spill, UNTIED.spill and APART.spill. The last two give
the same losses, the first one others, and the exported model of UNTIED the loss that its next step reports."""

import json
import pathlib
import subprocess
import sys

import npy

merged, untied, apart = sys.argv[1:]


def spillway(*arguments):
    subprocess.run(["spillway", *map(str, arguments)], check=True)


def train(name, steps, *flags):
    spillway("train", f"{name}.spill", "--data=x=x.npy", "--data=y=y.npy", "--lr=0.05", "--no-shuffle", f"--steps={steps}",
             f"--log={name}.jsonl", *flags)
    return [json.loads(line)["loss"] for line in open(f"{name}.jsonl")]


npy.write("x.npy", (2, 4), [0.5, -1, 2, 0.25, 1, 1, -3, 0.125])
npy.write("y.npy", (2, 4), [1, 0, 0, 0, 0, 0, 2, 0])
losses = {name: train(name, 5) for name in (merged, untied, apart)}
assert losses[untied] == losses[apart] != losses[merged], losses
target = pathlib.Path(untied, "trained.onnx")
target.parent.mkdir()
spillway("export", f"{untied}.spill", "-o", target)
next_loss = train(untied, 6, "--resume")[-1]
spillway("compile", target, "-o", "trained.spill", "--threads=1")
spillway("run", "trained.spill", "--input=x=x.npy", "--input=y=y.npy", "--output=loss=loss.npy")
(loss,) = npy.read("loss.npy")[1]
assert abs(loss - next_loss) <= 1e-6 * loss, (loss, next_loss)
