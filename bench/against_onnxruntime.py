#!/usr/bin/env python3
"""Tokens per second of a decoder with all weights resident, over ONNX Runtime's.

    bench/against_onnxruntime.py BUILD MODEL.onnx [--batches 1,8] [--threads 2] [--rounds 7]

MODEL takes `input_ids` (i64[batch,sequence], both dynamic) and gives `logits`, as
`spillway-modelgen gpt2 ... --dynamic --outputs logits` makes it. The two take turns on the
same threads; medians of steps are compared. Needs `pip install onnxruntime numpy`.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import onnxruntime


class OnnxRuntime:
    def __init__(self, model, ids, vocabulary, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.logits = onnxruntime.OrtValue.ortvalue_from_numpy(
            numpy.empty((*ids.shape, vocabulary), numpy.float32))
        self.binding = self.session.io_binding()
        self.binding.bind_cpu_input("input_ids", ids)
        self.binding.bind_ortvalue_output("logits", self.logits)

    def steps(self, count):
        """Milliseconds of each of `count` steps after one that warms up."""
        times = []
        for _ in range(count + 1):
            start = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            times.append((time.perf_counter() - start) * 1e3)
        return times[1:]


class Spillway:
    def __init__(self, build, model, ids, threads, folder):
        self.program, self.folder, self.threads = build / "bin" / "spillway", folder, threads
        numpy.save(folder / "ids.npy", ids)
        batch, sequence = ids.shape
        subprocess.run([self.program, "compile", model, "-o", folder / "m.spill", "--threads", str(threads),
                        "--dim", f"batch={batch}", "--dim", f"sequence={sequence}"], check=True)

    def steps(self, count):
        subprocess.run([self.program, "run", self.folder / "m.spill", "--input",
                        f"input_ids={self.folder / 'ids.npy'}", "--output",
                        f"logits={self.folder / 'logits.npy'}", "--threads", str(self.threads),
                        "--repeat", str(count + 1), "--stats", self.folder / "stats.json"], check=True)
        return json.loads((self.folder / "stats.json").read_text())["step_ms"][1:]

    def logits(self):
        return numpy.load(self.folder / "logits.npy")


def compare(arguments, batch):
    ids = numpy.random.default_rng(0).integers(arguments.vocabulary, size=(batch, arguments.sequence))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        ours = Spillway(arguments.build, arguments.model, ids, arguments.threads, pathlib.Path(folder))
        theirs = OnnxRuntime(arguments.model, ids, arguments.vocabulary, arguments.threads)
        our_times, their_times = [], []
        for _ in range(arguments.rounds):
            our_times += ours.steps(arguments.steps)
            their_times += theirs.steps(arguments.steps)
        difference = numpy.max(numpy.abs(ours.logits() - theirs.logits.numpy()))
    tokens = batch * arguments.sequence
    ours, theirs = (tokens / statistics.median(times) * 1e3 for times in (our_times, their_times))
    print(f"{batch:5} {arguments.sequence:8} {arguments.threads:7} {ours:17.1f} {theirs:20.1f} "
          f"{ours / theirs:6.3f} {difference:14.2e}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("model")
    parser.add_argument("--batches", default="1,8", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--sequence", default=128, type=int)
    parser.add_argument("--vocabulary", default=50257, type=int)
    parser.add_argument("--threads", default=2, type=int)
    parser.add_argument("--rounds", default=7, type=int)
    parser.add_argument("--steps", default=1, type=int, help="timed steps a round")
    parser.add_argument("--folder", default=".", help="for bundles and outputs, 2 GB")
    arguments = parser.parse_args()
    print("batch sequence threads spillway tokens/s onnxruntime tokens/s  ratio max difference")
    for batch in arguments.batches:
        compare(arguments, batch)


main()
