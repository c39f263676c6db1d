"""Compiles Llamas of 1.5 B (2 layers) and 8 B parameters (32 layers) whose weights are a hole in a
file, with --link-weights, and prints a line for each: layers, parameters, seconds, and the peak of
the resident memory of all processes together.

    bench/compile_large.py BIN FOLDER [--memory 1GiB] [--runs 1]

BIN holds the programs; FOLDER, on a file system with holes, receives models and bundles. Seconds
are the least of the runs. Ends with an error where a peak exceeds 300 MB.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

MOST_BYTES = 300_000_000

parser = argparse.ArgumentParser()
parser.add_argument("bin", type=pathlib.Path)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--memory", default="1GiB")
parser.add_argument("--runs", type=int, default=1)
arguments = parser.parse_args()

PAGE = os.sysconf("SC_PAGE_SIZE")
SHAPE = "--hidden 4096 --ffn 14336 --heads 32 --kv-heads 8 --vocab 128256 --ctx 2048 --untie".split()


def resident_bytes(root):
    """Of a process and all its descendants."""
    children, resident = {}, {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except OSError:
            continue  # It has ended meanwhile.
        children.setdefault(int(fields[1]), []).append(int(entry))
        resident[int(entry)] = int(fields[21]) * PAGE
    total, pending = 0, [root]
    while pending:
        process = pending.pop()
        total += resident.get(process, 0)
        pending += children.get(process, [])
    return total


def compile_model(model, bundle):
    begin = time.monotonic()
    process = subprocess.Popen(
        [arguments.bin / "spillway", "compile", model, "-o", bundle, "--link-weights"]
        + f"--dim batch=1 --dim sequence=128 --memory {arguments.memory}".split(),
        stdout=subprocess.DEVNULL,
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, resident_bytes(process.pid))
        time.sleep(0.002)
    if process.returncode != 0:
        sys.exit(f"{model} does not compile")
    return time.monotonic() - begin, peak


print(f"{'layers':>6} {'parameters':>12} {'seconds':>8} {'peak MB':>8}")
for layers in (2, 32):
    folder = arguments.folder / str(layers)
    folder.mkdir(parents=True, exist_ok=True)
    made = subprocess.run(
        [arguments.bin / "spillway-modelgen", "llama", folder / "model.onnx", "--layers", str(layers)]
        + SHAPE
        + "--dynamic --outputs logits --fill hole --external weights.bin".split(),
        check=True,
        capture_output=True,
        text=True,
    )
    parameters = (made.stdout + made.stderr).split(": ")[1].split()[0]
    runs = [compile_model(folder / "model.onnx", folder / "m.spill") for _ in range(arguments.runs)]
    seconds, peak = min(run[0] for run in runs), max(run[1] for run in runs)
    print(f"{layers:>6} {parameters:>12} {seconds:>8.2f} {peak / 1e6:>8.1f}", flush=True)
    if peak > MOST_BYTES:
        sys.exit(f"{peak} bytes resident; at most {MOST_BYTES} were expected")
