"""check_gradients.py CASE...: compiles CASE/model.onnx with the gradients of its loss, runs it, and compares
with the loss and CASE/grads.npz, which PyTorch's autograd gave. A case also holds its inputs as NAME.npy, and
case.json: the name and value of the loss, and the sizes of dynamic dimensions."""

import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import npy


def run(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result


def check(case):
    info = json.loads((case / "case.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        dims = [f"--dim={name}={size}" for name, size in info["dims"].items()]
        run("spillway", "compile", case / "model.onnx", "-o", folder / "m.spill",
            "--gradients-of", info["loss"], *dims)
        with zipfile.ZipFile(case / "grads.npz") as archive:
            expected = {name.removesuffix(".npy"): npy.parse(archive.read(name)) for name in archive.namelist()}
        inputs = [f"--input={path.stem}={path}" for path in case.glob("*.npy")]
        outputs = [f"--output=grad.{name}={folder}/{i}.npy" for i, name in enumerate(expected)]
        run("spillway", "run", folder / "m.spill", *inputs, *outputs,
            f"--output={info['loss']}={folder}/loss.npy")
        loss = npy.read(folder / "loss.npy")[1][0]
        assert abs(loss - info["value"]) <= 1e-5 * abs(info["value"]), f"loss {loss}, not {info['value']}"
        worst = 0
        for i, (name, (shape, values)) in enumerate(expected.items()):
            found_shape, found = npy.read(folder / f"{i}.npy")
            assert found_shape == shape, f"{name}: {found_shape}, not {shape}"
            largest = max(map(abs, values))
            for a, b in zip(found, values, strict=True):
                assert abs(a - b) <= 1e-4 * largest, f"{name}: {a}, not {b}, the largest is {largest}"
                worst = max(worst, abs(a - b) / largest)
    print(f"{case.name}: {len(expected)} gradients, {worst:.1e} off at most")


for argument in sys.argv[1:]:
    check(pathlib.Path(argument))
