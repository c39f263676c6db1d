#!/usr/bin/env python3
"""One token through layers of packed weights: MatMulNBits of 4 and 8 bits, DequantizeLinear of 8 and 4 bits.

    bench/packed.py BUILD [--size 2048] [--layers 2] [--threads 2] [--folder .]

A line for each budget (everything resident, a quarter of the packed bytes, a thirtieth): bytes read a step over the
packed bytes that are not resident, whether the outputs are the bits of the resident run, and tokens a second. Then the
resident run against ONNX Runtime. Ends with an error where a byte more or less is read, or a bit differs.
Needs `pip install onnx onnxruntime numpy`.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from side_by_side import compare

MIB = 1 << 20
BLOCK = 32  # weights that share a scale
BLOCK_BYTES = 4096  # of a file


class Model:
    """Layers of size x size, each of which keeps a token's magnitude."""

    def __init__(self, size):
        self.size, self.nodes, self.weights, self.random = size, [], [], numpy.random.default_rng(0)
        self.packed_bytes = 0

    def weight(self, array, element=None):
        array = numpy.ascontiguousarray(array)
        name = f"w{len(self.weights)}"
        shape = array.shape if element is None else (*array.shape[:-1], 2 * array.shape[-1])
        self.weights.append(numpy_helper.from_array(array, name) if element is None else
                            helper.make_tensor(name, element, shape, array.tobytes(), raw=True))
        self.packed_bytes += -(-array.nbytes // BLOCK_BYTES) * BLOCK_BYTES
        return name

    def bytes(self, *shape):
        return self.random.integers(0, 256, shape, numpy.uint8)

    def scales(self, bits, *shape):
        level = 2.0 ** (bits - 1) * self.size ** 0.5 / 3 ** 0.5
        return self.weight((self.random.uniform(0.5, 1.5, shape) / level).astype(numpy.float32))

    def node(self, op, *inputs, domain="", **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        return name

    def by_bits(self, x, bits, with_zeros):
        size, blocks = self.size, self.size // BLOCK
        inputs = [x, self.weight(self.bytes(size, blocks, BLOCK * bits // 8)), self.scales(bits, size * blocks)]
        if with_zeros:
            inputs.append(self.weight(self.bytes(size * blocks * bits // 8)))
        return self.node("MatMulNBits", *inputs, domain="com.microsoft", K=size, N=size, bits=bits, block_size=BLOCK)

    def dequantized(self, x, bits, block=0):
        size = self.size
        rows = self.bytes(size, size * bits // 8)
        weight = self.weight(rows.view(numpy.int8)) if bits == 8 else self.weight(rows, TensorProto.INT4)
        scale = self.scales(bits, *((size // block, size) if block else (size,)))
        attributes = {"axis": 0, "block_size": block} if block else {"axis": 1}
        return self.node("MatMul", x, self.node("DequantizeLinear", weight, scale, **attributes))

    def save(self, path, layers):
        x = "x"
        for _ in range(layers):
            for layer in (lambda x: self.by_bits(x, 4, True), lambda x: self.by_bits(x, 4, False),
                          lambda x: self.by_bits(x, 8, False), lambda x: self.dequantized(x, 8),
                          lambda x: self.dequantized(x, 4, BLOCK)):
                x = self.node("Tanh", layer(x))
        self.nodes[-1].output[0] = "y"
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, self.size])
        graph = helper.make_graph(self.nodes, "g", [value("x")], [value("y")], self.weights)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--size", default=2048, type=int)
    parser.add_argument("--layers", default=2, type=int, help="of each of the five kinds")
    parser.add_argument("--threads", default=2, type=int)
    parser.add_argument("--repeat", default=20, type=int)
    parser.add_argument("--folder", default=".", help="for models and bundles")
    arguments = parser.parse_args()
    program, threads = arguments.build.resolve() / "bin" / "spillway", ["--threads", str(arguments.threads)]
    wrong = 0
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        folder = pathlib.Path(folder).resolve()
        model = Model(arguments.size)
        model.save(folder / "model.onnx", arguments.layers)
        x = model.random.standard_normal((1, arguments.size), numpy.float32)
        numpy.save(folder / "x.npy", x)

        def call(*options):
            subprocess.run([program, *options], check=True)

        call("compile", folder / "model.onnx", "-o", folder / "whole.spill", *threads)
        print(f"{len(model.weights)} weights, {model.packed_bytes / MIB:.1f} MiB packed, "
              f"{arguments.layers * 5 * 4 * arguments.size ** 2 / MIB:.1f} MiB in f32")
        print("budget MiB  resident MiB  read/streamed  bits  tokens/s")
        expected = None
        for budget in (None, model.packed_bytes // 4, model.packed_bytes // 30):
            bundle = folder / ("whole.spill" if budget is None else "streamed.spill")
            if budget is not None:
                call("replan", folder / "whole.spill", "-o", bundle, "--memory", str(budget), *threads)
            call("run", bundle, *threads, "--input", f"x={folder / 'x.npy'}", "--output", f"y={folder / 'y.npy'}",
                 "--repeat", str(arguments.repeat), "--stats", folder / "stats.json")
            stats = json.loads((folder / "stats.json").read_text())
            arena = json.loads((bundle / "plan.json").read_text())["arenas"][0]
            streamed = model.packed_bytes - arena["resident_bytes"]
            read = (stats["read_bytes"] - stats["planned_read_bytes_prologue"]) / arguments.repeat
            bits = (folder / "y.npy").read_bytes()
            expected = expected or bits
            wrong += bits != expected or read != streamed
            print(f"{arena['bytes'] / MIB:10.2f} {arena['resident_bytes'] / MIB:13.2f} "
                  f"{read / streamed if streamed else 1:14.3f} {'same' if bits == expected else 'OTHER':>5} "
                  f"{1e3 / stats['step_ms_median']:9.1f}", flush=True)
        r = compare(arguments.build, folder / "model.onnx", {"x": x}, "y", {}, arguments.threads, 5, arguments.repeat, folder)
        print(f"tokens/s over ONNX Runtime, all resident: {r.ratio:.3f} ({1e3 / r.ours:.1f} and {1e3 / r.theirs:.1f}), "
              f"outputs differ by {r.difference:.1e}")
    sys.exit(wrong > 0)


main()
