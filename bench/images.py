#!/usr/bin/env python3
"""Images per second of a ResNet-50 and a MobileNetV3 (large) with random weights, over ONNX Runtime's.

    bench/images.py BUILD [--models resnet50,mobilenetv3] [--batches 1,8] [--threads 2] [--rounds 7]

The two take turns on the same threads; medians of steps are compared. Batch norms are nodes of their own.
Needs `pip install onnx onnxruntime numpy`.
"""

import argparse
import pathlib
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from side_by_side import compare


class Graph:
    """A graph while it is written; a value is a pair of its name and its channels."""

    def __init__(self):
        self.nodes, self.weights, self.random = [], [], numpy.random.default_rng(0)

    def weight(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(value.astype(numpy.float32), name))
        return name

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def convolve(self, x, channels, kernel, stride=1, groups=1, norm=True):
        name, inputs = x
        depth = inputs // groups * kernel * kernel
        filters = self.random.standard_normal((channels, inputs // groups, kernel, kernel)) * (2 / depth) ** 0.5
        bias = [] if norm else [self.weight(self.random.standard_normal(channels) * 0.1)]
        name = self.node("Conv", name, self.weight(filters), *bias, strides=[stride] * 2, group=groups,
                         pads=[(kernel - 1) // 2] * 4, kernel_shape=[kernel] * 2)
        if norm:
            parts = [self.random.uniform(low, high, channels)
                     for low, high in ((0.5, 1), (-0.1, 0.1), (-0.1, 0.1), (0.5, 1.5))]
            name = self.node("BatchNormalization", name, *map(self.weight, parts))
        return name, channels

    def apply(self, op, x, *others, **attributes):
        return self.node(op, x[0], *(other[0] for other in others), **attributes), x[1]

    def classify(self, x, classes):
        pooled = self.node("Flatten", self.node("GlobalAveragePool", x[0]))
        return self.dense((pooled, x[1]), classes)

    def dense(self, x, outputs):
        weights = self.random.standard_normal((outputs, x[1])) * x[1] ** -0.5
        bias = self.random.standard_normal(outputs) * 0.1
        return self.node("Gemm", x[0], self.weight(weights), self.weight(bias), transB=1), outputs

    def save(self, result, path):
        self.nodes[-1].output[0] = "y"
        size = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 224, 224])
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", result[1]])
        graph = helper.make_graph(self.nodes, "g", [size], [output], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def resnet50(graph):
    x = graph.apply("Relu", graph.convolve(("x", 3), 64, 7, 2))
    x = graph.apply("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            y = graph.apply("Relu", graph.convolve(x, width, 1))
            y = graph.apply("Relu", graph.convolve(y, width, 3, stride))
            y = graph.convolve(y, 4 * width, 1)
            if block == 0:
                x = graph.convolve(x, 4 * width, 1, stride)
            x = graph.apply("Relu", graph.apply("Add", y, x))
    return graph.classify(x, 1000)


def mobilenetv3(graph):
    # Kernel, expanded and result channels, squeeze, activation, stride.
    blocks = ((3, 16, 16, 0, "Relu", 1), (3, 64, 24, 0, "Relu", 2), (3, 72, 24, 0, "Relu", 1),
              (5, 72, 40, 24, "Relu", 2), (5, 120, 40, 32, "Relu", 1), (5, 120, 40, 32, "Relu", 1),
              (3, 240, 80, 0, "HardSwish", 2), (3, 200, 80, 0, "HardSwish", 1), (3, 184, 80, 0, "HardSwish", 1),
              (3, 184, 80, 0, "HardSwish", 1), (3, 480, 112, 120, "HardSwish", 1),
              (3, 672, 112, 168, "HardSwish", 1), (5, 672, 160, 168, "HardSwish", 2),
              (5, 960, 160, 240, "HardSwish", 1), (5, 960, 160, 240, "HardSwish", 1))
    x = graph.apply("HardSwish", graph.convolve(("x", 3), 16, 3, 2))
    for kernel, expanded, channels, squeeze, activation, stride in blocks:
        y = x
        if expanded != x[1]:
            y = graph.apply(activation, graph.convolve(y, expanded, 1))
        y = graph.apply(activation, graph.convolve(y, expanded, kernel, stride, groups=expanded))
        if squeeze:
            s = graph.apply("GlobalAveragePool", y)
            s = graph.apply("Relu", graph.convolve(s, squeeze, 1, norm=False))
            s = graph.apply("HardSigmoid", graph.convolve(s, expanded, 1, norm=False), alpha=1 / 6, beta=0.5)
            y = graph.apply("Mul", y, s)
        y = graph.convolve(y, channels, 1)
        x = graph.apply("Add", x, y) if stride == 1 and x[1] == channels else y
    x = graph.apply("HardSwish", graph.convolve(x, 960, 1))
    pooled = graph.node("Flatten", graph.node("GlobalAveragePool", x[0]))
    return graph.dense(graph.apply("HardSwish", graph.dense((pooled, 960), 1280)), 1000)


MODELS = {"resnet50": resnet50, "mobilenetv3": mobilenetv3}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--models", default=list(MODELS), type=lambda text: text.split(","))
    parser.add_argument("--batches", default="1,8", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--threads", default=2, type=int)
    parser.add_argument("--rounds", default=7, type=int)
    parser.add_argument("--steps", default=3, type=int, help="timed steps a round")
    parser.add_argument("--folder", default=".", help="for models and bundles, 400 MB")
    arguments = parser.parse_args()
    print("model       batch threads spillway ms onnxruntime ms  ratio max difference")
    for name in arguments.models:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            model = pathlib.Path(folder) / "model.onnx"
            graph = Graph()
            graph.save(MODELS[name](graph), model)
            for batch in arguments.batches:
                x = numpy.random.default_rng(1).standard_normal((batch, 3, 224, 224), numpy.float32)
                ours, theirs, difference = compare(arguments.build, model, {"x": x}, "y", {"batch": batch},
                                                   arguments.threads, arguments.rounds, arguments.steps, folder)
                print(f"{name:11} {batch:5} {arguments.threads:7} {ours:11.2f} {theirs:14.2f} "
                      f"{theirs / ours:6.3f} {difference:14.2e}", flush=True)


main()
