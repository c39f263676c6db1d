#!/usr/bin/env python3
"""How compile time and memory grow with the number of nodes.

usage: bench/chains.py BUILD [NODES...]

Chains of several kinds of nodes, each a model of its own. Columns: kind, nodes, seconds (wall), peak resident MiB of
the compiler.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

build = os.path.abspath(sys.argv[1])
sizes = [int(size) for size in sys.argv[2:]] or [5000, 20000]
row = {"name": "w", "type": "f32", "dims": [16], "data": [0.01 * i for i in range(16)]}
square = {"type": "f32", "dims": [16, 16], "data": [0.001 * i for i in range(256)]}


def kinds(n):
    yield "add", [{"op": "Add", "in": [f"x{i}", "w"]} for i in range(n)], [row]
    yield "softmax", [{"op": "Softmax", "in": [f"x{i}"]} for i in range(n)], []
    yield "matmul", [{"op": "MatMul", "in": [f"x{i}", f"w{i}"]} for i in range(n)], [
        dict(square, name=f"w{i}") for i in range(n)
    ]
    yield "scalars", [{"op": "Mul", "in": [f"x{i}", f"c{i}"]} for i in range(n)], [
        {"name": f"c{i}", "type": "f32", "data": [1 + 1e-6 * i]} for i in range(n)
    ]
    yield "residual", [
        {"op": "Add", "in": [f"x{i}", "x0"]} if i % 2 else {"op": "Softmax", "in": [f"x{i}"]} for i in range(n)
    ], []


def write(path, nodes, initializers):
    for i, node in enumerate(nodes):
        node["out"] = [f"x{i + 1}"]
    model = {
        "ir": 8,
        "opsets": {"": 17},
        "graph": {
            "inputs": [{"name": "x0", "type": "f32", "dims": [8, 16]}],
            "outputs": [{"name": f"x{len(nodes)}", "type": "f32"}],
            "initializers": initializers,
            "nodes": nodes,
        },
    }
    with open(path + ".json", "w") as file:
        json.dump(model, file)
    subprocess.run([f"{build}/bin/spillway-modelgen", "json", path + ".json", path], check=True)


print(f"{'kind':10} {'nodes':>7} {'seconds':>8} {'peak MiB':>9}")
with tempfile.TemporaryDirectory() as folder:
    for n in sizes:
        for kind, nodes, initializers in kinds(n):
            model = f"{folder}/{kind}.onnx"
            write(model, nodes, initializers)
            command = [f"{build}/bin/spillway", "compile", model, "-o", f"{folder}/m.spill"]
            start = time.monotonic()
            _, status, usage = os.wait4(os.posix_spawn(command[0], command, os.environ), 0)
            seconds = time.monotonic() - start
            if status:
                sys.exit(f"{kind}, {n} nodes: not compiled")
            print(f"{kind:10} {n:7} {seconds:8.1f} {usage.ru_maxrss / 1024:9.0f}", flush=True)
