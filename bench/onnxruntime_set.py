#!/usr/bin/env python3
"""A set of models against ONNX Runtime: all weights resident, f32, the two in turns on the same threads.

    bench/onnxruntime_set.py BUILD [--models gpt2,bert,...] [--batches 1,8] [--threads 2] [--rounds 5]

A line each: medians of a step, their ratio, and the largest difference of the outputs; then the geometric mean.
SPILLWAY_REAL_MODELS may name a folder with ch_PP-OCRv4_det_infer.onnx and silero_vad_v5.onnx, which then are of the
set. Needs `pip install onnx onnxruntime numpy`.
"""

import argparse
import math
import pathlib
import tempfile

import numpy

from models import SET
from side_by_side import compare


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--models", default=list(SET), type=lambda text: text.split(","))
    parser.add_argument("--batches", default="1,8", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--threads", default=2, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--steps", default=2, type=int, help="timed steps a round")
    parser.add_argument("--folder", default=".", help="for models and bundles, 8 GB")
    arguments = parser.parse_args()
    print("model           batch spillway ms onnxruntime ms  ratio difference")
    ratios = []
    for name in arguments.models:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = pathlib.Path(folder) / "model.onnx"
            SET[name].make(path, arguments.build)
            for batch in arguments.batches:
                inputs, dims = SET[name].inputs(batch)
                ours, theirs, difference = compare(arguments.build, path, inputs, SET[name].output, dims,
                                                   arguments.threads, arguments.rounds, arguments.steps, folder,
                                                   SET[name].bound)
                ratios.append(theirs / ours)
                print(f"{name:15} {batch:5} {ours:11.2f} {theirs:14.2f} {theirs / ours:6.3f} {difference:10.2e}",
                      flush=True)
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least {min(ratios):.3f}")


main()
