"""check_ranks.py STATS PLAN: every rank of a run read its part of what was gathered and no more,
but for the rows and the small states that all of them read; and as planned."""

import json
import sys

stats = json.load(open(sys.argv[1]))
plan = json.load(open(sys.argv[2]))
ranks = stats["ranks"]
assert len(ranks) == plan["ranks"] > 1
for rank in ranks:
    planned = rank["planned_read_bytes_prologue"] + stats["steps"] * rank["planned_read_bytes_step"]
    assert 0 < rank["read_bytes"] <= 1.02 * planned, f"{rank}: {planned} bytes planned"

channels = plan["step"]["channels"]
gathered, reads = channels["communicate"]["bytes"], channels["read"]["bytes"]
steps = [rank["planned_read_bytes_step"] for rank in ranks]
assert steps[0] == max(steps) == reads, f"{steps}, {reads} bytes planned for rank 0"
by_all = reads - gathered // len(ranks)
parts = sum(steps) - len(ranks) * by_all
# What is missing is the padding of the last ranks' parts.
assert 0.9 * gathered <= parts <= gathered, f"{parts} bytes read in parts, {gathered} gathered"
assert by_all < gathered / 10, f"{by_all} bytes read by every rank, {gathered} gathered"
