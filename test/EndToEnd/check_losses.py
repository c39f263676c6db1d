"""check_losses.py MODEL CASES.json: adds each loss of the cases to the model, and compares it and the gradient of its
weight with what PyTorch gave (make_loss_cases.py)."""

import json
import subprocess
import sys

import npy


def run(*command):
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def write(path, tensor):
    npy.write(path, tensor["shape"], tensor["data"], tensor["type"])


model, cases = sys.argv[1], json.load(open(sys.argv[2]))
write("x.npy", cases["x"])
for case in cases["cases"]:
    name = "targets" if "targets" in case["loss"] else "labels"
    write("labels.npy", case["labels"])
    run("spillway", "compile", model, "-o", "m.spill", "--dim", f"batch={cases['batch']}", "--gradients-of", case["loss"])
    run("spillway", "run", "m.spill", "--input", "x=x.npy", "--input", f"{name}=labels.npy",
        "--output", "loss=loss.npy", "--output", "grad.w=gradient.npy")
    (loss,), gradient = npy.read("loss.npy")[1], npy.read("gradient.npy")[1]
    assert abs(loss - case["value"]) <= 1e-6 * abs(case["value"]), (case["loss"], loss, case["value"])
    largest = max(map(abs, case["gradient"]))
    differences = [abs(a - b) / largest for a, b in zip(gradient, case["gradient"], strict=True)]
    assert all(difference <= 2e-6 for difference in differences), (case["loss"], differences)
    print(f"{case['loss']}: {max(differences):.1e} off at most")
