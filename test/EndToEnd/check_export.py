"""check_export.py NAME PRECISION [DATA]: trains NAME.onnx with a frozen weight, exports it as NAME/trained.onnx (and DATA
beside it), and compares the loss of that model with the one that the next step of training reports."""

import json
import pathlib
import subprocess
import sys

import npy

name, precision, data = sys.argv[1], sys.argv[2], sys.argv[3:]


def spillway(*arguments):
    subprocess.run(["spillway", *map(str, arguments)], check=True)


inputs = ("input_ids", "labels")
train = ["train", f"{name}.spill", *(f"--data={key}=ids.npy" for key in inputs), "--lr=0.01", "--no-shuffle"]
target = pathlib.Path(name, "trained.onnx")
spillway("compile", f"{name}.onnx", "-o", f"{name}.spill", "--train", "--freeze=wpe.weight", "--threads=2",
         f"--precision={precision}")
spillway(*train, "--steps=3")
spillway("export", f"{name}.spill", "-o", target)
spillway(*train, "--steps=4", "--resume", f"--log={name}.jsonl")
spillway("compile", target, "-o", f"{name}.trained.spill", "--threads=2")
spillway("run", f"{name}.trained.spill", *(f"--input={key}=ids.npy" for key in inputs), f"--output=loss={name}.npy")

assert sorted(path.name for path in target.parent.iterdir()) == ["trained.onnx", *data]
reported = json.loads(open(f"{name}.jsonl").read().splitlines()[-1])
(loss,) = npy.read(f"{name}.npy")[1]
# The exported weights are those of fp32; what was computed with their twins differs by what rounding does.
tolerance = {"fp32": 1e-6, "bf16": 2e-3}[precision]
assert reported["step"] == 4 and abs(loss - reported["loss"]) <= tolerance * loss, (loss, reported)
print(f"{name}: {loss}")
