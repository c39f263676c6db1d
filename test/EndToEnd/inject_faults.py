"""inject_faults.py BUNDLE IDS: runs with one fault after the other, at every operation."""

import json
import os
import subprocess
import sys

bundle, ids = sys.argv[1:]
run = ["spillway", "run", bundle, "--input", f"input_ids={ids}", "--output", "logits=out.npy"]


def attempt(*flags):
    if os.path.exists("out.npy"):
        os.remove("out.npy")
    return subprocess.run(run + list(flags), capture_output=True, text=True, timeout=60)


assert attempt("--stats", "stats.json").returncode == 0
good = open("out.npy", "rb").read()
assert json.load(open("stats.json"))["read_bytes"] > 0
for kind in ("eio", "enospc", "short", "corrupt"):
    errors = operation = harmless = 0
    # An operation that is never reached does no harm: three in a row are the end. (The first is the
    # opening of a file, which only the first two kinds hit.)
    while harmless < 3:
        ran = attempt("--fail-io", f"{operation}:{kind}")
        if ran.returncode == 0:
            harmless += 1
            assert open("out.npy", "rb").read() == good, f"wrong numbers after {operation}:{kind}"
        else:
            harmless = 0
            errors += 1
            assert ran.returncode == 2, f"{operation}:{kind}: exit code {ran.returncode}"
            assert ran.stderr.startswith("spillway: error: ") and "states.bin" in ran.stderr, ran.stderr
            assert not os.path.exists("out.npy") and not os.path.exists("out.npy.tmp")
        operation += 1
    assert errors > 10, f"only {errors} operations failed with {kind}"
