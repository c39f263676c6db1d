#!/usr/bin/env python3
"""The largest GPT-2 that trains in a budget: by layers at each hidden size, two real steps of each.

    bench/largest_model.py BUILD [--memory 256MiB] [--hidden 512,768,1024] [--most 400e6] [--smaller 60e6] [--steps 2] [--folder DIR]

For each hidden size the number of layers doubles, then is bisected, until the budget is refused, or the model has --most
parameters, which the drive must hold (24 bytes each). Prints parameters, what they are over those that 16 bytes a parameter
would leave in the budget, the peak of the process, and the median of the steps behind the first over the bound that is printed with the
drive's rates before the training, and with those behind it (AdamW, f32, one sequence of 128 tokens, vocabulary 50257). A refused shape costs its compilation alone. Models of 1, 2, 4, ... layers with at most
--smaller parameters are trained too, here and in PyTorch, whose peak is given without what its process had before the model
(needs `pip install onnx numpy torch`; 0: none).
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy

MIB = 2**20


def parameters(layers, hidden):
    return layers * (12 * hidden**2 + 13 * hidden) + (50257 + 1024 + 2) * hidden


class Machine:
    def __init__(self, arguments, folder):
        self.bin, self.memory, self.folder = arguments.build / "bin", arguments.memory, folder
        self.calibration = folder / "here.json"
        self.calibrate()
        self.steps = arguments.steps
        tokens = numpy.random.default_rng(0).integers(0, 50257, (self.steps, 129), dtype=numpy.int64)
        numpy.save(folder / "ids.npy", tokens[:, :-1])
        numpy.save(folder / "labels.npy", tokens[:, 1:])

    def calibrate(self):
        self.must("spillway", "calibrate", "-o", self.calibration, "--folder", self.folder)

    def call(self, program, *arguments):
        return subprocess.run([str(part) for part in (self.bin / program, *arguments)], capture_output=True, text=True)

    def bundle(self, layers, hidden):
        """Whether the shape is planned within the budget; it is the bundle then."""
        model = self.folder / "model.onnx"
        self.must("spillway-modelgen", "gpt2", model, "--layers", layers, "--hidden", hidden, "--heads", hidden // 64,
                  "--ffn", 4 * hidden, "--vocab", 50257, "--ctx", 1024, "--dynamic", "--outputs", "loss", "--external", "model.bin")
        done = self.call("spillway", "compile", model, "-o", self.folder / "m.spill", "--train", "--loss", "loss",
                         "--dim", "batch=1", "--dim", "sequence=128", "--memory", self.memory, "--machine", self.calibration, "--force")
        if done.returncode == 0:
            return True
        if "too small" in done.stderr:
            return False
        sys.exit(done.stderr)

    def must(self, *command):
        done = self.call(*command)
        if done.returncode != 0:
            sys.exit(done.stderr)
        return done.stdout

    def train(self):
        """Seconds of a step, the bounds before and behind it, and the peak of the process."""
        before = self.bound()
        self.must("spillway", "train", self.folder / "m.spill", "--data", f"input_ids={self.folder}/ids.npy",
                  "--data", f"labels={self.folder}/labels.npy", "--steps", self.steps, "--lr", "1e-4",
                  "--stats", self.folder / "stats.json")
        stats = json.loads((self.folder / "stats.json").read_text())
        self.calibrate()
        self.must("spillway", "replan", self.folder / "m.spill", "--machine", self.calibration)
        return statistics.median(stats["step_ms"][1:]) / 1e3, before, self.bound(), stats["peak_rss_bytes"]

    def bound(self):
        return json.loads(self.must("spillway", "inspect", self.folder / "m.spill", "--json"))["plan"]["step"]["bound_seconds"]


def pytorch_peak(layers, hidden):
    """Bytes that the same two steps take in PyTorch, beside those of the process before."""
    script = pathlib.Path(__file__).with_name("gpt2_torch.py")
    done = subprocess.run([sys.executable, str(script), str(layers), str(hidden)], check=True, capture_output=True, text=True)
    before, peak = map(int, done.stdout.split())
    return peak - before


def largest(works, most):
    """The largest number of layers that works, up to `most`; 0 where none does."""
    low, high = 0, 1
    while high <= most and works(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return low


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--memory", default="256MiB")
    parser.add_argument("--hidden", default="512,768,1024", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--most", default=400e6, type=float, help="parameters of the largest model that is tried")
    parser.add_argument("--smaller", default=60e6, type=float, help="parameters of those that PyTorch trains too")
    parser.add_argument("--steps", default=2, type=int, help="steps of each training, at least 2")
    parser.add_argument("--folder", default=".")
    arguments = parser.parse_args()
    budget = int(arguments.memory.removesuffix("MiB")) * MIB
    print("hidden layers  parameters  over 16 B each | peak MiB  PyTorch's | step s bound s  behind  ratio behind")

    def row(machine, layers, hidden, theirs=""):
        seconds, before, behind, peak = machine.train()
        count = parameters(layers, hidden)
        print(f"{hidden:6} {layers:6} {count:11} {count / (budget / 16):14.1f} | {peak / MIB:8.1f} {theirs:>10} | "
              f"{seconds:6.1f} {before:7.1f} {behind:7.1f} {seconds / before:6.2f} {seconds / behind:6.2f}", flush=True)

    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        machine = Machine(arguments, pathlib.Path(folder))
        for hidden in arguments.hidden:
            most = int((arguments.most - parameters(0, hidden)) // (parameters(1, hidden) - parameters(0, hidden)))
            layers = most if machine.bundle(most, hidden) else largest(lambda n: machine.bundle(n, hidden), most)
            smaller = 1
            while smaller < layers and parameters(smaller, hidden) <= arguments.smaller:
                machine.bundle(smaller, hidden)
                row(machine, smaller, hidden, f"{pytorch_peak(smaller, hidden) / MIB:.0f}")
                smaller *= 2
            if not layers:
                print(f"{hidden:6} none")
                continue
            machine.bundle(layers, hidden)
            row(machine, layers, hidden)


main()
