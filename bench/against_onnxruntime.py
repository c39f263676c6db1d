#!/usr/bin/env python3
"""Tokens per second of a decoder with all weights resident, over ONNX Runtime's.

    bench/against_onnxruntime.py BUILD MODEL.onnx [--batches 1,8] [--threads 2] [--rounds 7]

MODEL takes `input_ids` (i64[batch,sequence], both dynamic) and gives `logits`, as
`spillway-modelgen gpt2 ... --dynamic --outputs logits` makes it. The two take turns on the
same threads; medians of steps are compared. Needs `pip install onnxruntime numpy`.
"""

import argparse
import pathlib

import numpy

from side_by_side import compare


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
        ids = numpy.random.default_rng(0).integers(arguments.vocabulary, size=(batch, arguments.sequence))
        result = compare(
            arguments.build, arguments.model, {"input_ids": ids}, "logits",
            {"batch": batch, "sequence": arguments.sequence}, arguments.threads, arguments.rounds,
            arguments.steps, arguments.folder)
        tokens = batch * arguments.sequence * 1e3
        print(f"{batch:5} {arguments.sequence:8} {arguments.threads:7} {tokens / result.ours:17.1f} "
              f"{tokens / result.theirs:20.1f} {result.ratio:6.3f} {result.difference:14.2e}", flush=True)


main()
