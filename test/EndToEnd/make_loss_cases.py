"""make_loss_cases.py FOLDER: writes model.json, a product that gives `logits`, for spillway-modelgen, and cases.json: losses of
them with what PyTorch gives for the loss and the gradient of the weight. Needs torch."""

import json
import pathlib
import sys

import torch
from torch.nn import functional as F

torch.manual_seed(0)
BATCH, LENGTH, HIDDEN, CLASSES = 3, 4, 5, 7
x = torch.randn(BATCH, LENGTH, HIDDEN)
w = torch.randn(HIDDEN, CLASSES)
w[:, 0] = 0  # logits where pieces of functions meet
labels = torch.randint(CLASSES, (BATCH, LENGTH))
some = labels.clone()
some[0, 1], some[2, 3] = -100, 2
along1 = torch.randint(LENGTH, (BATCH, CLASSES))
floats = torch.randn(BATCH, LENGTH, CLASSES)
shares = torch.rand(BATCH, LENGTH, CLASSES)


def last(logits):
    return logits.flatten(0, 1)


CASES = [
    ("cross_entropy(logits)", labels, lambda y, t: F.cross_entropy(last(y), t.flatten())),
    ("cross_entropy(logits, targets)", some, lambda y, t: F.cross_entropy(last(y), t.flatten())),
    ("cross_entropy(logits, ignore_index=2, label_smoothing=0.1)", labels,
     lambda y, t: F.cross_entropy(last(y), t.flatten(), ignore_index=2, label_smoothing=0.1)),
    ("cross_entropy(logits, label_smoothing=1)", some,
     lambda y, t: F.cross_entropy(last(y), t.flatten(), label_smoothing=1)),
    ("cross_entropy(logits, shift=1, label_smoothing=0.2)", some,
     lambda y, t: F.cross_entropy(last(y[:, :-1]), t[:, 1:].flatten(), label_smoothing=0.2)),
    ("cross_entropy(logits, shift=2)", labels, lambda y, t: F.cross_entropy(last(y[:, :-2]), t[:, 2:].flatten())),
    ("cross_entropy(logits, dim=1, weight=0.5)", along1, lambda y, t: 0.5 * F.cross_entropy(y, t)),
    ("nll(logits, ignore_index=2)", labels, lambda y, t: F.nll_loss(last(y), t.flatten(), ignore_index=2)),
    ("mse(logits)", floats, F.mse_loss),
    ("l1(logits)", floats, F.l1_loss),
    ("huber(logits)", floats, F.huber_loss),
    ("huber(logits, delta=0.5)", floats, lambda y, t: F.huber_loss(y, t, delta=0.5)),
    ("smooth_l1(logits, beta=2)", floats, lambda y, t: F.smooth_l1_loss(y, t, beta=2)),
    ("bce_with_logits(logits)", shares, F.binary_cross_entropy_with_logits),
    ("bce_with_logits(logits, pos_weight=3)", shares,
     lambda y, t: F.binary_cross_entropy_with_logits(y, t, pos_weight=torch.tensor(3.0))),
]


def tensor(values):
    return {"shape": list(values.shape), "type": "<i8" if values.dtype == torch.int64 else "<f4",
            "data": values.flatten().tolist()}


cases = []
for loss, target, function in CASES:
    weight = w.clone().requires_grad_()
    value = function(x @ weight, target)
    value.backward()
    cases.append({"loss": loss, "labels": tensor(target), "value": value.item(), "gradient": weight.grad.flatten().tolist()})
model = {"ir": 8, "opsets": {"": 17}, "graph": {
    "inputs": [{"name": "x", "type": "f32", "dims": ["batch", LENGTH, HIDDEN]}],
    "outputs": [{"name": "logits", "type": "f32", "dims": ["batch", LENGTH, CLASSES]}],
    "initializers": [{"name": "w", "type": "f32", "dims": [HIDDEN, CLASSES], "data": w.flatten().tolist()}],
    "nodes": [{"op": "MatMul", "in": ["x", "w"], "out": ["logits"]}]}}
folder = pathlib.Path(sys.argv[1])
(folder / "model.json").write_text(json.dumps(model) + "\n")
(folder / "cases.json").write_text(json.dumps({"batch": BATCH, "x": tensor(x), "cases": cases}) + "\n")
