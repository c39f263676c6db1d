#!/usr/bin/env python3
"""Training steps of a GPT-2 with all in memory, f32, AdamW, against PyTorch's: the faster of eager and torch.compile.

    bench/against_pytorch.py BUILD [--layers 12] [--hidden 768] [--batch 4] [--sequence 256] [--threads 2] [--rounds 3]

All three begin with the same weights, take the same tokens in each step, and take turns on the same threads. A line each:
the median of steps in ms, tokens/s, the loss of the last step of all, and the largest difference of any loss to ours; then
the ratio, and how long the products with weights alone would take at the peak of fused multiply-adds, the highest that
was measured between the turns: no step is shorter, so no ratio is above theirs over it. PyTorch has fused attention and a
fused optimizer; torch.compile needs a C++ compiler. Needs `pip install onnx numpy torch`.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import torch

from gpt2_torch import CONTEXT, VOCABULARY, Gpt2, adamw, step

RATE, DECAY = 1e-4, 0.01


class PyTorch:
    def __init__(self, path, arguments, tokens, compiled):
        model = Gpt2(arguments.layers, arguments.hidden)
        model.load(path)
        self.optimizer = adamw(model, RATE, DECAY)
        self.model = torch.compile(model) if compiled else model
        self.ids, self.labels = map(torch.from_numpy, tokens)
        self.losses = []

    def steps(self, count):
        times = []
        for _ in range(count):
            start = time.perf_counter()
            self.losses.append(step(self.model, self.optimizer, self.ids, self.labels))
            times.append((time.perf_counter() - start) * 1e3)
        return times


class Spillway:
    def __init__(self, path, arguments, folder):
        self.program, self.folder, self.threads = arguments.build / "bin" / "spillway", folder, arguments.threads
        self.call("compile", path, "-o", folder / "m.spill", "--train", "--loss", "loss", "--dim", f"batch={arguments.batch}",
                  "--dim", f"sequence={arguments.sequence}", "--optimizer-option", f"weight_decay={DECAY}", "--threads", self.threads)
        self.losses = []

    def call(self, *arguments):
        subprocess.run([str(part) for part in (self.program, *arguments)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def steps(self, count):
        self.call("train", self.folder / "m.spill", "--data", f"input_ids={self.folder}/ids.npy", "--data",
                  f"labels={self.folder}/labels.npy", "--steps", len(self.losses) + count, "--lr", RATE, "--no-shuffle", "--threads",
                  self.threads, "--log", self.folder / "log.jsonl", *(["--resume"] if self.losses else []))
        lines = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()][-count:]
        self.losses += [line["loss"] for line in lines]
        return [line["seconds"] * 1e3 for line in lines]


def peak(arguments):
    """GFlop/s of fused multiply-adds alone, on as many threads."""
    lines = subprocess.run([arguments.build / "bin" / "gemm_bench", "--threads", str(arguments.threads), "--rows", "128", "--seconds", "0.5"],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    return max(float(line.split()[5]) for line in lines[1:])


def product_flops(arguments):
    """Of the products with weights in a step: one forward, two backward."""
    weights = 12 * arguments.layers * arguments.hidden**2 + VOCABULARY * arguments.hidden
    return 3 * 2 * weights * arguments.batch * arguments.sequence


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    for name, value in (("layers", 12), ("hidden", 768), ("batch", 4), ("sequence", 256), ("threads", 2), ("rounds", 3), ("steps", 3)):
        parser.add_argument(f"--{name}", default=value, type=int)
    parser.add_argument("--folder", default=".", help="for the model and the bundle, 6 GB")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        folder = pathlib.Path(folder)
        path = folder / "model.onnx"
        subprocess.run([arguments.build / "bin" / "spillway-modelgen", "gpt2", path, "--layers", str(arguments.layers), "--hidden",
                        str(arguments.hidden), "--heads", str(arguments.hidden // 64), "--ffn", str(4 * arguments.hidden), "--vocab",
                        str(VOCABULARY), "--ctx", str(CONTEXT), "--dynamic", "--outputs", "loss", "--external", "model.bin"],
                       check=True, stdout=subprocess.DEVNULL)
        tokens = numpy.random.default_rng(0).integers(0, VOCABULARY, (arguments.batch, arguments.sequence + 1), dtype=numpy.int64)
        samples = [numpy.ascontiguousarray(part) for part in (tokens[:, :-1], tokens[:, 1:])]
        for name, part in zip(("ids", "labels"), samples):
            numpy.save(folder / f"{name}.npy", part)
        runs = {"spillway": Spillway(path, arguments, folder), "eager": PyTorch(path, arguments, samples, compiled=False),
                "compiled": PyTorch(path, arguments, samples, compiled=True)}
        times = {name: [] for name in runs}
        peaks = []
        for _ in range(arguments.rounds):
            peaks.append(peak(arguments))
            for name, run in runs.items():
                # The first step of a turn fetches and compiles what later ones find.
                times[name] += run.steps(arguments.steps + 1)[1:]
    medians = {name: statistics.median(values) for name, values in times.items()}
    for name, run in runs.items():
        difference = max(abs(ours - theirs) for ours, theirs in zip(runs["spillway"].losses, run.losses))
        print(f"{name:9} {medians[name]:9.1f} ms {arguments.batch * arguments.sequence * 1e3 / medians[name]:8.1f} tokens/s, "
              f"loss {run.losses[-1]:.6f}, difference {difference:.1e}")
    theirs, bound = min(medians["eager"], medians["compiled"]), product_flops(arguments) / max(peaks) * 1e-6
    print(f"ratio {theirs / medians['spillway']:.3f}")
    print(f"products alone at {max(peaks):.0f} GFlop/s: {bound:.1f} ms, {bound / medians['spillway']:.2f} of ours, {bound / theirs:.2f} of theirs: "
          f"no ratio is above {theirs / bound:.2f}")


main()
