#!/usr/bin/env python3
"""A set of models against ONNX Runtime: all weights resident, f32, the two in turns on the same threads.

    bench/onnxruntime_set.py BUILD [--models gpt2,bert,...] [--batches 1,8] [--threads 2] [--rounds 5]

A line each: medians of a step in ms, their ratio, and the largest difference of the outputs; the medians of seconds
from the start of a process to its first output, with ONNX Runtime's again without the imports of Python; seconds that
compile takes; MiB of the bundle, and of the peaks of both processes (resident). Then the geometric mean of the ratios, and
the largest share that our start has of theirs, each way.
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
    print(f"{'model':15} batch |     ours   theirs  ratio difference | start ours theirs (without imports) | "
          "compile bundle | peak ours theirs")
    results = []
    for name in arguments.models:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = pathlib.Path(folder) / "model.onnx"
            SET[name].make(path, arguments.build)
            for batch in arguments.batches:
                inputs, dims = SET[name].inputs(batch)
                r = compare(arguments.build, path, inputs, SET[name].output, dims, arguments.threads,
                            arguments.rounds, arguments.steps, folder, SET[name].bound)
                results.append(r)
                print(f"{name:15} {batch:5} | {r.ours:8.2f} {r.theirs:8.2f} {r.ratio:6.3f} {r.difference:10.2e} | "
                      f"{r.our_start:10.3f} {r.their_start:6.3f} {r.their_start_without_imports:17.3f} | "
                      f"{r.compile_seconds:7.2f} {r.bundle_bytes / 2**20:6.0f} | {r.our_peak:9.0f} {r.their_peak:6.0f}",
                      flush=True)
    ratios = [r.ratio for r in results]
    print(f"geometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.3f}, least {min(ratios):.3f}; "
          f"start over theirs at most {max(r.our_start / r.their_start for r in results):.2f}, without imports "
          f"{max(r.our_start / r.their_start_without_imports for r in results):.2f}")


main()
