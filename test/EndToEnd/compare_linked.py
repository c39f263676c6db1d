"""compare_linked.py MODEL IDS BYTES (--memory SIZE | --tiers TIERS)...: a bundle with linked weights
gives the bits of a packed one under every budget, adds at most BYTES of states to the disk, reads
what was planned, and plans again without its model."""

import filecmp
import json
import os
import subprocess
import sys

model, ids, most = sys.argv[1:4]
budgets = [sys.argv[i : i + 2] for i in range(4, len(sys.argv), 2)]
most = int(most.removesuffix("KiB")) << 10
compile = ["spillway", "compile", model, "--dim", "batch=1", "--dim", "sequence=32"]


def run(bundle, output):
    command = ["spillway", "run", bundle, "--input", f"input_ids={ids}", "--output", f"logits={output}"]
    subprocess.run(command + ["--stats", "stats.json"], check=True)
    stats = json.load(open("stats.json"))
    read, planned = stats["read_bytes"], stats["planned_read_bytes"]
    assert read <= 1.02 * planned, f"{bundle}: {read} bytes read, {planned} planned"


subprocess.run(compile + ["-o", "packed.spill"], check=True)
run("packed.spill", "packed.npy")
for budget in budgets:
    subprocess.run(compile + ["-o", "linked.spill", "--link-weights"] + budget, check=True)
    stored = os.path.getsize("linked.spill/states.bin")
    assert stored <= most, f"{stored} bytes of states beside the linked ones"
    run("linked.spill", "linked.npy")
    assert filecmp.cmp("packed.npy", "linked.npy", shallow=False), f"other bits with {budget}"
    subprocess.run(["spillway", "replan", "linked.spill", "-o", "again.spill"] + budget, check=True)
    for name in ("table.bin", "plan.json", "states.index"):
        assert filecmp.cmp(f"linked.spill/{name}", f"again.spill/{name}", shallow=False), name
