#!/usr/bin/env python3
"""Figure 6b of ZeRO-Infinity (arXiv 2104.07857): the largest linear pair hd x 4 hd that trains in a budget, over tiles.

    bench/figure6b.py BUILD [--memory 16MiB] [--tiles 1,2,4,8,16,32,64] [--most 16384] [--optimizer descent|adamw] [--folder DIR]

Both weights are forced into t tiles. One tile of a weight takes 16 hd^2 / t bytes, and all that an optimizer keeps for it
lies beside it while it is updated: `descent` (p -= lr g) keeps nothing, so hd(t) = sqrt(t memory / 16); AdamW's two moments make it
sqrt(t memory / 48). For each t the largest hd (a multiple of 64) is searched, trained for one step, and one element of
a weight compared with numpy. A line each: hd, what it is of the closed form, and of sqrt(t) hd(1); last, hd as the planner tiles:
--most, which takes 100 hd^2 bytes of the drive, or what the budget or the drive leaves.
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper

DESCENT = """func.func @descent(%p: f32, %g: f32, %lr: f64 {spillway.step = "lr"}) -> f32 {
  %rate = arith.truncf %lr : f64 to f32
  %change = arith.mulf %rate, %g : f32
  %q = arith.subf %p, %change : f32
  return %q : f32
}
"""
GRAIN = 64
LEARNING_RATE = 0.5


def write_model(folder, hd):
    """y = x A B, loss = mean(y); A and B are zeros of a hole-filled file, but for the first row of A and B."""
    shapes, initializers, offset = {"A": (hd, 4 * hd), "B": (4 * hd, hd)}, [], 0
    with open(folder / "weights.bin", "wb") as weights:
        for name, shape in shapes.items():
            tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
            for key, value in (("location", "weights.bin"), ("offset", offset), ("length", 4 * math.prod(shape))):
                tensor.external_data.add(key=key, value=str(value))
            initializers.append(tensor)
            weights.seek(offset)
            weights.write(numpy.full(shape[1], 0.25, numpy.float32).tobytes())
            offset += 4 * math.prod(shape)
        weights.truncate(offset)
    nodes = [helper.make_node("MatMul", ["x", "A"], ["h"]), helper.make_node("MatMul", ["h", "B"], ["y"]),
             helper.make_node("ReduceMean", ["y"], ["loss"], keepdims=0)]
    graph = helper.make_graph(nodes, "pair", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", hd])],
                              [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])], initializers)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), folder / "pair.onnx")


class Pair:
    def __init__(self, arguments, folder):
        self.spillway, self.memory, self.folder = arguments.build / "bin" / "spillway", arguments.memory, folder
        self.optimizer = arguments.optimizer
        if self.optimizer == "descent":
            self.optimizer = folder / "descent.mlir"
            self.optimizer.write_text(DESCENT)

    def call(self, *arguments):
        return subprocess.run([str(part) for part in (self.spillway, *arguments)], capture_output=True, text=True)

    def fits(self, hd, tiles):
        write_model(self.folder, hd)
        cut = []
        if tiles:
            for name, columns in (("A", 4 * hd), ("B", hd)):
                cut += ["--tile", f"{name}.*={math.ceil(columns / 16 / tiles)}"]
        done = self.call("compile", self.folder / "pair.onnx", "-o", self.folder / "m.spill", "--train", "--loss", "loss", "--optimizer",
                         self.optimizer, "--dim", "batch=1", "--memory", self.memory, "--force", *cut)
        self.drive_is_full = "its file system has" in done.stderr
        if done.returncode and "too small" not in done.stderr and not self.drive_is_full:
            sys.exit(done.stderr)
        return done.returncode == 0

    def largest(self, tiles, guess):
        """In steps of GRAIN: larger by an eighth until it does not fit, then by halves."""
        low, high = 0, max(1, round(guess / GRAIN))
        while self.fits(high * GRAIN, tiles):
            low, high = high, high + max(1, high // 8)
        while high - low > 1 and not self.drive_is_full:
            middle = (low + high) // 2
            low, high = (middle, high) if self.fits(middle * GRAIN, tiles) else (low, middle)
        return low * GRAIN

    def train(self, hd, tiles):
        """One step; whether B's first row changed by what it must."""
        self.fits(hd, tiles)
        numpy.save(self.folder / "x.npy", numpy.ones((1, hd), numpy.float32))
        done = self.call("train", self.folder / "m.spill", "--data", f"x={self.folder}/x.npy", "--steps", 1, "--lr", LEARNING_RATE,
                         "--stats", self.folder / "stats.json")
        if done.returncode:
            sys.exit(done.stderr)
        done = self.call("export", self.folder / "m.spill", "-o", self.folder / "after.onnx")
        if done.returncode:
            sys.exit(done.stderr)
        [tensor] = [t for t in onnx.load(self.folder / "after.onnx", load_external_data=False).graph.initializer if t.name == "B"]
        places = {entry.key: entry.value for entry in tensor.external_data}
        row = numpy.fromfile(self.folder / places["location"], numpy.float32, hd, offset=int(places.get("offset", 0)))
        if self.optimizer != "adamw":
            # h[0] = 0.25, and the loss's gradient is h[0] / hd for each element of row 0.
            expected = numpy.float32(0.25) - numpy.float32(LEARNING_RATE) * (numpy.float32(0.25) / numpy.float32(hd))
            if not numpy.allclose(row, expected, rtol=1e-6, atol=0):
                sys.exit(f"hd {hd}: B[0] is {row[:4]}, not {expected}")
        return json.loads((self.folder / "stats.json").read_text())["peak_rss_bytes"] / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--memory", default="16MiB")
    parser.add_argument("--tiles", default="1,2,4,8,16,32,64", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--most", default=16384, type=int)
    parser.add_argument("--optimizer", default="descent", choices=["descent", "adamw"])
    parser.add_argument("--folder", default=".")
    arguments = parser.parse_args()
    budget = int(arguments.memory.removesuffix("MiB")) * 2**20
    bytes_an_element = {"descent": 16, "adamw": 48}[arguments.optimizer]
    closed = lambda tiles: math.sqrt(tiles * budget / bytes_an_element)
    print("tiles     hd  of the closed form  of sqrt(t) hd(1)  peak MiB")
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        pair, first = Pair(arguments, pathlib.Path(folder)), None
        for tiles in arguments.tiles:
            hd = pair.largest(tiles, closed(tiles))
            first = first or hd / math.sqrt(tiles)
            print(f"{tiles:5} {hd:6} {hd / closed(tiles):19.3f} {hd / math.sqrt(tiles) / first:17.3f} "
                  f"{pair.train(hd, tiles):9.1f}", flush=True)
        hd, limit = arguments.most, "no larger one was tried"
        if not pair.fits(hd, 0):
            hd = pair.largest(0, closed(arguments.tiles[-1]))
            limit = "the drive has room for no larger one" if pair.drive_is_full else ""
        print(f" plan {hd:6} {'':19} {'':17} {pair.train(hd, 0):9.1f} {limit}")


main()
