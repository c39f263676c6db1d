#!/usr/bin/env python3
"""Gradients of exported losses against PyTorch's, for folders of models with right answers that are not part of the repository.

    test/EndToEnd/compare_gradients.py SPILLWAY CASE...

A case is a folder with model.onnx and test_data_set_0/input_K.pb, and either

- grads.npz, the gradient of each initializer, and case.json, which names the loss: the loss must agree within 1e-5 of itself,
  each gradient within 1e-4 of its largest element; or
- test_data_set_0/grad_dirs.json: of each initializer a direction (a tensor beside it), and the derivative of the output `loss`
  along it: within 1e-3 of itself.

A line each, and what does not agree; exits with 1 where anything does not. Needs `pip install numpy onnx`.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper


def tensor(path):
    return numpy_helper.to_array(onnx.load_tensor(str(path)))


class Model:
    def __init__(self, spillway, case):
        self.spillway, self.case = spillway, case
        graph = onnx.load(str(case / "model.onnx"), load_external_data=False).graph
        initializers = {entry.name for entry in graph.initializer}
        inputs = [entry for entry in graph.input if entry.name not in initializers]
        self.values = {entry.name: tensor(case / "test_data_set_0" / f"input_{i}.pb") for i, entry in enumerate(inputs)}
        self.dims = {dim.dim_param: size for entry in inputs
                     for dim, size in zip(entry.type.tensor_type.shape.dim, self.values[entry.name].shape) if dim.dim_param}

    def call(self, *arguments):
        result = subprocess.run([str(part) for part in (self.spillway, *arguments)], capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{self.case.name}: {result.stderr}")

    def gradients(self, loss, names):
        """The loss, and its gradient of each name."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            self.call("compile", self.case / "model.onnx", "-o", folder / "m.spill", "--gradients-of", loss,
                      *(f"--dim={name}={size}" for name, size in self.dims.items()))
            inputs = []
            for i, (name, value) in enumerate(self.values.items()):
                numpy.save(folder / f"in{i}.npy", value)
                inputs.append(f"--input={name}={folder}/in{i}.npy")
            outputs = [f"--output=grad.{name}={folder}/{i}.npy" for i, name in enumerate(names)]
            self.call("run", folder / "m.spill", *inputs, *outputs, f"--output={loss}={folder}/loss.npy")
            return float(numpy.load(folder / "loss.npy")), [numpy.load(folder / f"{i}.npy") for i in range(len(names))]


def compare_whole(model):
    """How many gradients agree, and which do not, with the worst difference of the others."""
    info = json.loads((model.case / "case.json").read_text())["loss"]
    expected = dict(numpy.load(model.case / "grads.npz"))
    loss, found = model.gradients(info["output"], list(expected))
    off = [f"loss {loss}, not {info['f32']}"] if not abs(loss - info["f32"]) <= 1e-5 * abs(info["f32"]) else []
    worst = 0.0
    for (name, right), ours in zip(expected.items(), found):
        difference = float(numpy.max(numpy.abs(ours - right)) / max(numpy.max(numpy.abs(right)), 1e-30))
        if difference <= 1e-4:
            worst = max(worst, difference)
        else:
            off.append(f"{name} {difference:.1e} of its largest element, {numpy.max(numpy.abs(right)):.1e}")
    return len(expected), worst, off


def compare_directions(model):
    folder = model.case / "test_data_set_0"
    expected = json.loads((folder / "grad_dirs.json").read_text())
    _, found = model.gradients("loss", list(expected))
    off, worst = [], 0.0
    for (name, entry), gradient in zip(expected.items(), found):
        ours = float(numpy.sum(gradient.astype(numpy.float64) * tensor(folder / entry["file"]).astype(numpy.float64)))
        difference = abs(ours - entry["dloss"]) / abs(entry["dloss"])
        if difference <= 1e-3:
            worst = max(worst, difference)
        else:
            off.append(f"{name}: {ours}, not {entry['dloss']}")
    return len(expected), worst, off


def main():
    spillway, *cases = map(pathlib.Path, sys.argv[1:])
    failed = False
    for case in cases:
        compare = compare_whole if (case / "grads.npz").exists() else compare_directions
        count, worst, off = compare(Model(spillway.resolve(), case))
        failed |= bool(off)
        print(f"{case.name}: {count - len(off)} of {count} within {worst:.1e}" + "".join(f"; {line}" for line in off), flush=True)
    sys.exit(failed)


main()
