"""Computes one output by ONNX Runtime: MODEL OUTPUT THREADS NAME=FILE.npy...; prints the seconds after the imports,
and the peak MiB of the process."""

import sys
import time

import numpy
import onnxruntime

start = time.perf_counter()
model, output, threads, *inputs = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
session.run([output], {name: numpy.load(file) for name, file in (text.split("=", 1) for text in inputs)})
seconds = time.perf_counter() - start
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))
print(seconds, int(peak.split()[1]) / 1024)
