"""Models of the benchmarks, with seeded random weights, as ONNX files."""

import dataclasses
import math
import os
import pathlib
import subprocess
import typing

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """A graph while it is written; a value of images is a pair of its name and its channels."""

    def __init__(self):
        self.nodes, self.weights, self.inputs, self.random = [], [], [], numpy.random.default_rng(0)

    def input(self, name, element, shape):
        self.inputs.append(helper.make_tensor_value_info(name, element, shape))
        return name

    def weight(self, value, element=numpy.float32):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(numpy.asarray(value, element), name))
        return name

    def normal(self, *shape, scale=0.02):
        return self.weight(self.random.standard_normal(shape, numpy.float32) * numpy.float32(scale))

    def node(self, op, *inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        return name

    def save(self, result, shape, path):
        self.nodes[-1].output[0] = "y"
        assert result == f"v{len(self.nodes) - 1}"
        output = helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "g", self.inputs, [output], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    # Images

    def convolve(self, x, channels, kernel, stride=1, groups=1, norm=True):
        name, inputs = x
        depth = inputs // groups * kernel * kernel
        filters = self.normal(channels, inputs // groups, kernel, kernel, scale=(2 / depth) ** 0.5)
        bias = [] if norm else [self.normal(channels, scale=0.1)]
        name = self.node("Conv", name, filters, *bias, strides=[stride] * 2, group=groups,
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
        return self.node("Gemm", x[0], self.normal(outputs, x[1], scale=x[1] ** -0.5), self.normal(outputs),
                         transB=1), outputs

    # Sequences

    def linear(self, x, inputs, outputs):
        product = self.node("MatMul", x, self.normal(inputs, outputs))
        return self.node("Add", product, self.normal(outputs))

    def norm(self, x, width, epsilon=1e-12):
        return self.node("LayerNormalization", x, self.weight(self.random.uniform(0.9, 1.1, width)),
                         self.normal(width), epsilon=epsilon)

    def gelu(self, x):
        half = self.node("Mul", x, self.weight(0.5))
        erf = self.node("Erf", self.node("Mul", x, self.weight(math.sqrt(0.5))))
        return self.node("Mul", half, self.node("Add", erf, self.weight(1)))

    def attend(self, x, width, heads):
        shape = self.weight([0, 0, heads, width // heads], numpy.int64)

        def split(perm):
            return self.node("Transpose", self.node("Reshape", self.linear(x, width, width), shape), perm=perm)

        query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
        scores = self.node("Mul", self.node("MatMul", query, key), self.weight((width // heads) ** -0.5))
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        merged = self.node("Reshape", self.node("Transpose", mixed, perm=[0, 2, 1, 3]),
                           self.weight([0, 0, width], numpy.int64))
        return self.linear(merged, width, width)

    def feed_forward(self, x, width):
        return self.linear(self.gelu(self.linear(x, width, 4 * width)), 4 * width, width)


def resnet50(path):
    graph = Graph()
    x = (graph.input("x", TensorProto.FLOAT, ["batch", 3, 224, 224]), 3)
    x = graph.apply("Relu", graph.convolve(x, 64, 7, 2))
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
    graph.save(graph.classify(x, 1000)[0], ["batch", 1000], path)


def mobilenetv3(path):
    graph = Graph()
    # Kernel, expanded and result channels, squeeze, activation, stride.
    blocks = ((3, 16, 16, 0, "Relu", 1), (3, 64, 24, 0, "Relu", 2), (3, 72, 24, 0, "Relu", 1),
              (5, 72, 40, 24, "Relu", 2), (5, 120, 40, 32, "Relu", 1), (5, 120, 40, 32, "Relu", 1),
              (3, 240, 80, 0, "HardSwish", 2), (3, 200, 80, 0, "HardSwish", 1), (3, 184, 80, 0, "HardSwish", 1),
              (3, 184, 80, 0, "HardSwish", 1), (3, 480, 112, 120, "HardSwish", 1),
              (3, 672, 112, 168, "HardSwish", 1), (5, 672, 160, 168, "HardSwish", 2),
              (5, 960, 160, 240, "HardSwish", 1), (5, 960, 160, 240, "HardSwish", 1))
    x = (graph.input("x", TensorProto.FLOAT, ["batch", 3, 224, 224]), 3)
    x = graph.apply("HardSwish", graph.convolve(x, 16, 3, 2))
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
    result, _ = graph.dense(graph.apply("HardSwish", graph.dense((pooled, 960), 1280)), 1000)
    graph.save(result, ["batch", 1000], path)


def bert_base(path, layers=12, width=768, heads=12, vocabulary=30522, positions=512):
    graph = Graph()
    ids = graph.input("input_ids", TensorProto.INT64, ["batch", "sequence"])
    words = graph.node("Gather", graph.normal(vocabulary, width), ids)
    length = graph.node("Shape", ids, start=1, end=2)
    places = graph.node("Slice", graph.normal(positions, width), graph.weight([0], numpy.int64), length)
    x = graph.norm(graph.node("Add", graph.node("Add", words, places), graph.normal(width)), width)
    for _ in range(layers):
        x = graph.norm(graph.node("Add", graph.attend(x, width, heads), x), width)
        x = graph.norm(graph.node("Add", graph.feed_forward(x, width), x), width)
    graph.save(x, ["batch", "sequence", width], path)


def vit_base(path, layers=4, width=768, heads=12):
    graph = Graph()
    pixels = graph.input("x", TensorProto.FLOAT, ["batch", 3, 224, 224])
    patches = graph.node("Conv", pixels, graph.normal(width, 3, 16, 16), graph.normal(width),
                         strides=[16, 16], kernel_shape=[16, 16])
    patches = graph.node("Transpose", graph.node("Reshape", patches, graph.weight([0, width, 196], numpy.int64)),
                         perm=[0, 2, 1])
    batch = graph.node("Shape", pixels, start=0, end=1)
    shape = graph.node("Concat", batch, graph.weight([1, width], numpy.int64), axis=0)
    token = graph.node("Expand", graph.normal(1, 1, width), shape)
    x = graph.node("Add", graph.node("Concat", token, patches, axis=1), graph.normal(1, 197, width))
    for _ in range(layers):
        x = graph.node("Add", x, graph.attend(graph.norm(x, width, 1e-6), width, heads))
        x = graph.node("Add", x, graph.feed_forward(graph.norm(x, width, 1e-6), width))
    first = graph.node("Gather", graph.norm(x, width, 1e-6), graph.weight(0, numpy.int64), axis=1)
    graph.save(graph.linear(first, width, 1000), ["batch", 1000], path)


def modelgen(*arguments):
    def make(path, build):
        subprocess.run([build / "bin" / "spillway-modelgen", arguments[0], path, *arguments[1:]], check=True,
                       stdout=subprocess.DEVNULL)
    return make


def made(function):
    return lambda path, build: function(path)


def copied(name):
    def make(path, build):
        path.write_bytes((pathlib.Path(os.environ["SPILLWAY_REAL_MODELS"]) / name).read_bytes())
    return make


def tokens(vocabulary, sequence=128):
    def inputs(batch):
        ids = numpy.random.default_rng(0).integers(vocabulary, size=(batch, sequence))
        return {"input_ids": ids}, {"batch": batch, "sequence": sequence}
    return inputs


def image(batch):
    pixels = numpy.random.default_rng(1).standard_normal((batch, 3, 224, 224), numpy.float32)
    return {"x": pixels}, {"batch": batch}


def page(batch):
    pixels = numpy.random.default_rng(1).standard_normal((batch, 3, 640, 640), numpy.float32)
    return {"x": pixels}, {f"p2o.DynamicDimension.{i}": size for i, size in enumerate((batch, 640, 640))}


def sound(batch):
    random = numpy.random.default_rng(1)
    inputs = {"input": random.standard_normal((batch, 512), numpy.float32) / 10,
              "state": numpy.zeros((2, batch, 128), numpy.float32), "sr": numpy.array(16000)}
    return inputs, {"input.0": batch, "input.1": 512, "state.1": batch}


@dataclasses.dataclass
class Model:
    """`make`(path, build) writes the file; `inputs`(batch) gives arrays by name and sizes of dimensions."""
    make: typing.Callable
    inputs: typing.Callable
    output: str
    bound: tuple = ()


GPT2 = ("--vocab=50257", "--ctx=1024", "--dynamic", "--outputs", "logits")
SET = {
    "gpt2-124m": Model(modelgen("gpt2", "--layers=12", "--hidden=768", "--heads=12", "--ffn=3072", *GPT2), tokens(50257), "logits"),
    "gpt2-355m": Model(modelgen("gpt2", "--layers=24", "--hidden=1024", "--heads=16", "--ffn=4096", *GPT2), tokens(50257), "logits"),
    "llama-4-layers": Model(modelgen("llama", "--layers=4", "--hidden=2048", "--heads=32", "--kv-heads=8", "--ffn=8192", "--vocab=128256",
                                     "--ctx=2048", "--dynamic", "--outputs", "logits", "--external", "llama.bin"), tokens(128256), "logits"),
    "bert-base": Model(made(bert_base), tokens(30522), "y"),
    "vit-4-layers": Model(made(vit_base), image, "y"),
    "resnet50": Model(made(resnet50), image, "y"),
    "mobilenetv3": Model(made(mobilenetv3), image, "y"),
}
if "SPILLWAY_REAL_MODELS" in os.environ:
    SET |= {
        "pp-ocr-detector": Model(copied("ch_PP-OCRv4_det_infer.onnx"), page, "sigmoid_0.tmp_0"),
        "silero-vad": Model(copied("silero_vad_v5.onnx"), sound, "output", ("sr",)),
    }
