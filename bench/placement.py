"""Runs a GPT-2 of 355 M parameters (1.42 GB) under many placements and prints a line for each:
budget, peak resident memory by the kernel, bytes from the disk over planned ones, outputs.

    bench/placement.py BIN FOLDER [--runs 20]

BIN holds the programs, FOLDER (4 GB free) receives the model and the bundles. Where the memory
controller of control groups can be used, each run lives in a group of budget + 32 MiB. Ends with
an error where a placement changes a bit, exceeds its budget by more than 32 MiB, or reads more
than 1.02 x what was planned.
"""

import argparse
import hashlib
import json
import os
import pathlib
import subprocess
import sys
from types import SimpleNamespace

root = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(root / "test" / "EndToEnd"))
from in_memory_group import entering, make_group

MIB = 1 << 20
SPARE = 32 * MIB

parser = argparse.ArgumentParser()
parser.add_argument("bin", type=pathlib.Path)
parser.add_argument("folder", type=pathlib.Path)
parser.add_argument("--runs", type=int, default=20)
arguments = parser.parse_args()
bin, folder = arguments.bin.resolve(), arguments.folder.resolve()
folder.mkdir(parents=True, exist_ok=True)
examples = root / "examples"


def call(program, *options, **more):
    subprocess.run([str(bin / program), *map(str, options)], cwd=folder, check=True, **more)


def run(bundle, budget, options):
    group = make_group(budget + SPARE)
    child = subprocess.Popen(
        [bin / "spillway", "run", bundle, "--input", "input_ids=ids.npy", "--output", "logits=out.npy",
         "--stats", "stats.json", *options], cwd=folder, preexec_fn=entering(group))
    _, status, usage = os.wait4(child.pid, 0)
    if group:
        group.rmdir()
    if status:
        sys.exit(f"{bundle}: the run ended with status {status}")
    stats = json.loads((folder / "stats.json").read_text())
    return SimpleNamespace(
        grouped=group is not None,
        peak=usage.ru_maxrss * 1024,
        ratio=stats["disk_read_bytes"] / max(stats["planned_read_bytes"], 1),
        digest=hashlib.sha256((folder / "out.npy").read_bytes()).hexdigest(),
        seconds=stats["step_ms_median"] / 1000)


if not (folder / "gpt2.onnx").exists():
    call("spillway-modelgen", "gpt2", "gpt2.onnx", "--layers", 24, "--hidden", 1024, "--heads", 16, "--vocab", 50257,
         "--ctx", 1024, "--ffn", 4096, "--dynamic", "--outputs", "logits", "--external", "gpt2.bin")
subprocess.run([sys.executable, examples / "make_ids.py", folder / "ids.npy", "1", "128", "50257"], check=True)
call("spillway", "compile", "gpt2.onnx", "-o", "all.spill", "--dim", "batch=1", "--dim", "sequence=128",
     "--memory", "4GiB")

plans = {
    "all": (4096, ["--memory", "4GiB"]),
    "256MiB": (256, ["--memory", "256MiB"]),
    "96MiB": (96, ["--memory", "96MiB"]),
    "tiers": (512, ["--tiers", "device=128MiB,host=384MiB"]),
    "tiles": (256, ["--memory", "256MiB", "--tile", ".*c_fc.weight=64"]),
}
cases = [(plan, ["--threads", threads]) for plan in plans for threads in ("2", "1")]
cases += [(plan, ["--io", "pread"]) for plan in ("256MiB", "96MiB")]
cases += [("256MiB", []), ("96MiB", [])] * arguments.runs

for plan, (_, options) in plans.items():
    if plan != "all":
        call("spillway", "replan", "all.spill", "-o", f"{plan}.spill", *options)

expected, failures, grouped = None, 0, True
print(f"{'plan':8} {'options':16} {'peak MiB':>9} {'limit MiB':>9} {'disk/plan':>9} {'step s':>7}  outputs")
for plan, options in cases:
    budget = plans[plan][0] * MIB
    result = run(f"{plan}.spill", budget, options)
    expected = expected or result.digest
    fine = result.digest == expected and result.peak <= budget + SPARE and result.ratio <= 1.02
    failures += not fine
    grouped &= result.grouped
    print(f"{plan:8} {' '.join(options):16} {result.peak / MIB:9.1f} {(budget + SPARE) / MIB:9.0f} {result.ratio:9.4f} "
          f"{result.seconds:7.3f}  {'same' if result.digest == expected else 'DIFFERENT'}", flush=True)
print(f"{len(cases) - failures} right, {failures} wrong"
      + ("" if grouped else "; no memory control group to be had here"))
sys.exit(failures > 0)
