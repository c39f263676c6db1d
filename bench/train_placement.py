#!/usr/bin/env python3
"""Trains a GPT-2 of 124 M parameters (4 x 256, AdamW) under several placements, which must give the same bits.

    bench/train_placement.py BUILD [--folder DIR] [--steps 20] [--precisions fp32,bf16] [--memory 512MiB] [--tiers device=420MiB,host=512MiB]

For each precision: everything in memory on one thread, --memory on two, --tiers on two. A line each: budget, peak of the process, median
seconds of a step, the last loss, and whether all losses, norms of gradients and the exported weights are those of the first. Ends with an error where they
are not, or where a process with a budget takes 64 MiB more. Needs 14 GB in DIR, and `pip install numpy`.
"""

import argparse
import hashlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import numpy

MIB = 2**20
SPARE = 64 * MIB


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class Trial:
    def __init__(self, arguments, folder):
        self.bin, self.steps, self.folder = arguments.build.resolve() / "bin", arguments.steps, folder
        tokens = numpy.random.default_rng(0).integers(0, 50257, (4 * arguments.steps, 257), dtype=numpy.int64)
        numpy.save(folder / "ids.npy", tokens[:, :-1])
        numpy.save(folder / "labels.npy", tokens[:, 1:])
        self.call("spillway-modelgen", "gpt2", "model.onnx", "--layers", 12, "--hidden", 768, "--heads", 12, "--ffn", 3072, "--vocab", 50257,
                  "--ctx", 1024, "--dynamic", "--outputs", "loss", "--external", "model.bin")

    def call(self, program, *options):
        command = [str(part) for part in (self.bin / program, *options)]
        child = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = child.stderr.read().decode()
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"{' '.join(command)}: {errors}")
        return usage.ru_maxrss * 1024

    def run(self, precision, placement, threads):
        """Peak of the process, seconds of a step, last loss, and what must not differ."""
        self.call("spillway", "compile", "model.onnx", "-o", "m.spill", "--train", "--loss", "loss", "--precision", precision, "--dim", "batch=4",
                  "--dim", "sequence=256", *placement)
        peak = self.call("spillway", "train", "m.spill", "--data", "input_ids=ids.npy", "--data", "labels=labels.npy", "--steps", self.steps,
                         "--lr", 3e-4, "--warmup", 4, "--threads", threads, "--log", "log.jsonl")
        self.call("spillway", "export", "m.spill", "-o", "trained.onnx")
        lines = [json.loads(line) for line in (self.folder / "log.jsonl").read_text().splitlines()]
        losses = [(line["loss"], line.get("grad_norm")) for line in lines]
        weights = [digest(path) for path in sorted(self.folder.glob("trained.onnx*"))]
        shutil.rmtree(self.folder / "m.spill")
        for path in [*self.folder.glob("trained.onnx*"), self.folder / "log.jsonl"]:
            path.unlink()
        return peak, statistics.median(line["seconds"] for line in lines), losses[-1][0], (losses, weights)


def size_of(text):
    return int(text.removesuffix("MiB")) * MIB


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    for name, value in (("folder", "."), ("precisions", "fp32,bf16"), ("memory", "512MiB"), ("tiers", "device=420MiB,host=512MiB")):
        parser.add_argument(f"--{name}", default=value)
    parser.add_argument("--steps", default=20, type=int)
    arguments = parser.parse_args()
    tiers = sum(size_of(part.split("=")[1]) for part in arguments.tiers.split(","))
    placements = [("in memory", [], 1, None), (arguments.memory, ["--memory", arguments.memory], 2, size_of(arguments.memory)),
                  (arguments.tiers, ["--tiers", arguments.tiers], 2, tiers)]
    wrong = 0
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        trial = Trial(arguments, pathlib.Path(folder).resolve())
        for precision in arguments.precisions.split(","):
            expected = None
            for name, options, threads, budget in placements:
                peak, seconds, loss, found = trial.run(precision, options, threads)
                expected = expected or found
                fine = found == expected and (budget is None or peak <= budget + SPARE)
                wrong += not fine
                print(f"{precision} {name:26} {threads} threads, peak {peak / MIB:7.1f} MiB, step {seconds:6.2f} s, loss {loss:.6f}, "
                      f"{'same bits' if found == expected else 'OTHER BITS'}{'' if fine or found != expected else ', OVER ITS BUDGET'}", flush=True)
    sys.exit(wrong > 0)


main()
