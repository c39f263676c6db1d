"""Steps of one model by Spillway and by ONNX Runtime, in turns on the same threads."""

import json
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
import onnxruntime


class OnnxRuntime:
    def __init__(self, model, inputs, output, threads):
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
        subprocess.run([self.program, "compile", model, "-o", folder / "m.spill", "--threads", str(threads),
                        *options], check=True)

    def steps(self, count):
        subprocess.run([self.program, "run", self.folder / "m.spill", *self.arguments, "--threads",
                        str(self.threads), "--repeat", str(count + 1), "--stats", self.folder / "stats.json"],
                       check=True)
        return json.loads((self.folder / "stats.json").read_text())["step_ms"][1:]

    @property
    def result(self):
        return numpy.load(self.folder / "out.npy")


def compare(build, model, inputs, output, dims, threads, rounds, steps, folder, bound=()):
    """Median milliseconds of a step by each, and the largest difference between their outputs. Inputs that are
    `bound` are constants to Spillway."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        ours = Spillway(build, model, inputs, output, dims, bound, threads, pathlib.Path(temporary))
        theirs = OnnxRuntime(model, inputs, output, threads)
        our_times, their_times = [], []
        for _ in range(rounds):
            our_times += ours.steps(steps)
            their_times += theirs.steps(steps)
        difference = numpy.max(numpy.abs(ours.result - theirs.result))
    return statistics.median(our_times), statistics.median(their_times), difference
