"""check_outputs.py BUNDLE: every output of outputs.test has the right value."""

import subprocess
import sys

import npy

x = [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
npy.write("x.npy", (2, 3), x)
y = [sum(2 * v for v in row) for row in (x[:3], x[3:]) for _ in range(400)]
expected = {
    "x": ((2, 3), x),
    "same": ((2, 3), x),
    "flat": ((6,), x),
    "w": ((3, 400), [2.0] * 1200),
    "w2": ((3, 400), [2.0] * 1200),
    "c": ((1,), [6]),
    "ones": ((2, 2), [1.0] * 4),
    "y": ((2, 400), y),
    "y2": ((2, 400), y),
}
outputs = [word for name in expected for word in ("--output", f"{name}={name}.npy")]
subprocess.run(["spillway", "run", sys.argv[1], "--input", "x=x.npy"] + outputs, check=True)
for name, value in expected.items():
    assert npy.read(f"{name}.npy") == value, f"{name}: {npy.read(f'{name}.npy')}"
