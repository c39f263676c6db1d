#!/usr/bin/env python3
"""Each model of the set in a quarter of the size of its weights; where its activations need more, in the smallest
budget that works and a quarter of the weights (marked *).

    bench/quarter.py BUILD [--models gpt2-124m,...] [--batches 1] [--threads 2] [--folder .]

A line each: budget and peak of resident memory by the kernel, whether the outputs are the bits of the resident
run, and the step over the longer of compute alone and reads alone, throttled to the bandwidth at which the two are
equal. Ends with an error where a bit differs or a peak exceeds the budget by more than 32 MiB.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy

from models import SET

MIB = 1 << 20
PROCESS_BYTES = 32 * MIB  # what a process takes beside its arenas, at most


class Case:
    def __init__(self, build, folder, name, batch, threads):
        self.bin, self.folder, self.threads = build / "bin", folder, ["--threads", str(threads)]
        model = SET[name]
        inputs, dims = model.inputs(batch)
        self.inputs, self.output = [], model.output
        options = [f"--dim={name}={size}" for name, size in dims.items()]
        for name, value in inputs.items():
            numpy.save(folder / f"{name}.npy", value)
            if name in model.bound:
                options.append(f"--bind={name}={folder / name}.npy")
            else:
                self.inputs += ["--input", f"{name}={folder / name}.npy"]
        self.call("compile", folder / "model.onnx", "-o", folder / "resident.spill", *options, *self.threads)

    def call(self, *arguments):
        subprocess.run([self.bin / "spillway", *map(str, arguments)], check=True)

    def plan(self, bundle):
        return json.loads((self.folder / bundle / "plan.json").read_text())

    def run(self, bundle, repeat):
        stats, result = self.folder / "stats.json", self.folder / f"{bundle}.npy"
        self.call("run", self.folder / bundle, *self.inputs, "--output", f"{self.output}={result}", "--repeat", repeat,
                  "--stats", stats)
        return json.loads(stats.read_text()), result.read_bytes()

    def replan(self, memory, machine=None):
        self.call("replan", self.folder / "resident.spill", "-o", self.folder / "streamed.spill", "--memory", memory,
                  *self.threads, *(["--machine", machine] if machine else []))

    def measure(self):
        weights = sum(path.stat().st_size for path in (self.folder / "resident.spill").glob("states.bin"))
        minimum = self.plan("resident.spill")["minimum_bytes"]
        needs_more = minimum > weights // 4
        budget = weights // 4 + minimum * needs_more
        stats, expected = self.run("resident.spill", 5)
        seconds = stats["step_ms_median"] / 1e3
        predicted = self.plan("resident.spill")["step"]["predicted_seconds"]
        self.replan(budget)
        # What streams depends on the bandwidth a little: the second plan is made for its own bytes.
        for _ in range(2):
            bandwidth = self.plan("streamed.spill")["step"]["channels"]["read"]["bytes"] / seconds
            machine = self.folder / "machine.json"
            machine.write_text(json.dumps({"flops_per_thread": {"f32": 9e10 * predicted / seconds},
                                           "channels": {"read": {"bytes_per_second": bandwidth}}}))
            self.replan(budget, machine)
        stats, found = self.run("streamed.spill", 1)
        bench = subprocess.run([self.bin / "overlap_bench", self.folder / "resident.spill", self.folder / "streamed.spill",
                                *self.inputs, "--throttle-read", str(int(bandwidth))],
                               check=True, capture_output=True, text=True).stdout
        return budget, needs_more, stats["peak_rss_bytes"], found == expected, bandwidth, float(bench.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--models", default=list(SET), type=lambda text: text.split(","))
    parser.add_argument("--batches", default="1", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--threads", default=2, type=int)
    parser.add_argument("--folder", default=".", help="for models and bundles, 8 GB")
    arguments = parser.parse_args()
    wrong, ratios = 0, []
    print("model           batch budget MiB  peak MiB  bits throttle GB/s  ratio")
    for name in arguments.models:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            folder = pathlib.Path(folder).resolve()
            SET[name].make(folder / "model.onnx", arguments.build)
            for batch in arguments.batches:
                case = Case(arguments.build.resolve(), folder, name, batch, arguments.threads)
                budget, needs_more, peak, same, bandwidth, ratio = case.measure()
                wrong += not same or peak > budget + PROCESS_BYTES
                ratios.append(ratio)
                print(f"{name:15} {batch:5} {budget / MIB:10.1f}{'*' if needs_more else ' '}{peak / MIB:9.1f} {'same' if same else 'OTHER':>5} "
                      f"{bandwidth / 1e9:13.3f} {ratio:6.3f}", flush=True)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}")
    sys.exit(wrong > 0)


main()
