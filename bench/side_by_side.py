"""Steps of one model by Spillway and by ONNX Runtime, in turns on the same threads, and what a first output takes."""

import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnxruntime


def timed(command):
    """Seconds of a process, and what it prints."""
    start = time.perf_counter()
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True, check=True)
    return time.perf_counter() - start, done.stdout


def folder_bytes(folder):
    return sum(file.stat().st_size for file in folder.iterdir())


class OnnxRuntime:
    def __init__(self, model, inputs, output, threads, folder):
        self.command = [sys.executable, pathlib.Path(__file__).with_name("first_output.py"), model, output, threads]
        self.command += [f"{name}={folder / name}.npy" for name in inputs]
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # As the model says: without this it rounds activations to 8 bits before products of dequantized weights.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "0")
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.result = self.session.run([output], inputs)[0]
        self.binding = self.session.io_binding()
        for name, value in inputs.items():
            self.binding.bind_cpu_input(name, value)
        self.bound = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.empty_like(self.result))
        self.binding.bind_ortvalue_output(output, self.bound)

    def steps(self, count):
        """Milliseconds of each of `count` steps after one that warms up."""
        times = []
        for _ in range(count + 1):
            start = time.perf_counter()
            self.session.run_with_iobinding(self.binding)
            times.append((time.perf_counter() - start) * 1e3)
        return times[1:]

    def start(self):
        """Seconds from the start of a process to its first output, those without imports, and its peak MiB."""
        seconds, printed = timed(self.command)
        without_imports, peak = map(float, printed.split())
        return seconds, without_imports, peak


class Spillway:
    def __init__(self, build, model, inputs, output, dims, bound, threads, folder):
        self.program, self.folder, self.threads = build / "bin" / "spillway", folder, threads
        self.arguments = ["--output", f"{output}={folder / 'out.npy'}"]
        options = [f"--dim={name}={size}" for name, size in dims.items()]
        for name, value in inputs.items():
            numpy.save(folder / f"{name}.npy", value)
            if name in bound:
                options.append(f"--bind={name}={folder / name}.npy")
            else:
                self.arguments += ["--input", f"{name}={folder / name}.npy"]
        self.compile_seconds, _ = timed(
            [self.program, "compile", model, "-o", folder / "m.spill", "--threads", threads, *options])
        self.bundle_bytes = folder_bytes(folder / "m.spill")
        # So that no first output waits for what was written to make its model.
        os.sync()

    def run(self, *options):
        return timed([self.program, "run", self.folder / "m.spill", *self.arguments, "--threads", self.threads,
                      *options])

    def steps(self, count):
        self.run("--repeat", count + 1, "--stats", self.folder / "stats.json")
        return json.loads((self.folder / "stats.json").read_text())["step_ms"][1:]

    def start(self):
        seconds, _ = self.run("--stats", self.folder / "stats.json")
        return seconds, json.loads((self.folder / "stats.json").read_text())["peak_rss_bytes"] / 2**20

    @property
    def result(self):
        return numpy.load(self.folder / "out.npy")


@dataclasses.dataclass
class Comparison:
    """Medians of a step in milliseconds, and the largest difference between the outputs."""
    ours: float
    theirs: float
    difference: float
    # Medians of the seconds from the start of a process to its first output.
    our_start: float
    their_start: float
    their_start_without_imports: float
    compile_seconds: float
    bundle_bytes: int
    our_peak: float
    their_peak: float

    @property
    def ratio(self):
        return self.theirs / self.ours


# Seconds of steps that a round has at least; short steps are repeated.
ROUND_SECONDS = 0.2


def compare(build, model, inputs, output, dims, threads, rounds, steps, folder, bound=(), starts=3):
    """Inputs that are `bound` are constants to Spillway."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        temporary = pathlib.Path(temporary)
        ours = Spillway(build, model, inputs, output, dims, bound, threads, temporary)
        theirs = OnnxRuntime(model, inputs, output, threads, temporary)
        our_starts, their_starts = [], []
        for _ in range(starts):
            for started, side in ((our_starts, ours), (their_starts, theirs)):
                # Where a virtual machine gives free memory back to its host, the first process that takes it again waits for the host.
                side.start()
                started.append(side.start())
        steps = max(steps, int(ROUND_SECONDS * 1e3 / statistics.median(theirs.steps(steps))))
        our_times, their_times = [], []
        for _ in range(rounds):
            our_times += ours.steps(steps)
            their_times += theirs.steps(steps)
        difference = numpy.max(numpy.abs(ours.result - theirs.result))
    our_seconds, our_peaks = zip(*our_starts)
    their_seconds, without_imports, their_peaks = zip(*their_starts)
    return Comparison(statistics.median(our_times), statistics.median(their_times), difference,
                      statistics.median(our_seconds), statistics.median(their_seconds),
                      statistics.median(without_imports), ours.compile_seconds, ours.bundle_bytes,
                      max(our_peaks), max(their_peaks))
