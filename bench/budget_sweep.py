#!/usr/bin/env python3
"""Plans a bundle for budgets from the smallest that works to everything resident, and runs each.

Fails where a plan or a run leaves its budget, an output changes a bit, a larger budget is planned to
take longer, the smallest budget is too far above its floor, or less than it is not refused. Example:

  bench/budget_sweep.py build/bin/spillway gpt2.spill --input input_ids=ids.npy --output logits
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

MIB = 1 << 20
PROCESS_BYTES = 32 * MIB  # what a process takes beside its arenas, at most
MOST_OVER_FLOOR = 1.15


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("spillway")
    parser.add_argument("bundle")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--output", required=True, metavar="NAME")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--threads", default="2")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(arguments.bundle))) as folder:
        Sweep(arguments, folder).run()


class Sweep:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.bundle = os.path.join(folder, "sweep.spill")
        self.output = os.path.join(folder, "output.npy")
        self.stats = os.path.join(folder, "stats.json")

    def run(self):
        reference, everything = self.measure(None)
        minimum, floor = everything["minimum_bytes"], everything["floor_bytes"]
        print(f"minimum {minimum}, floor {floor}, ratio {minimum / floor:.3f}, "
              f"all resident {arena_bytes(everything)}")
        check(minimum <= MOST_OVER_FLOOR * floor, "the minimum is too far above its floor")

        print(f"{'budget MiB':>12} {'arena MiB':>12} {'peak MiB':>12} {'planned ms':>12} {'step ms':>12} "
              f"{'read MiB':>12}")
        previous = float("inf")
        most = max(minimum, arena_bytes(everything))
        for i in range(self.arguments.steps + 1):
            budget = minimum + (most - minimum) * i // self.arguments.steps
            output, plan = self.measure(budget)
            stats = json.load(open(self.stats))
            planned = plan["step"]["predicted_seconds"]
            arena, peak = arena_bytes(plan), stats["peak_rss_bytes"]
            print(f"{budget / MIB:12.1f} {arena / MIB:12.1f} {peak / MIB:12.1f} {planned * 1e3:12.2f} "
                  f"{stats['step_ms_median']:12.2f} {stats['planned_read_bytes_step'] / MIB:12.1f}", flush=True)
            check(arena <= budget, "the plan exceeds its budget")
            check(sum(stats["arena_bytes"].values()) == arena, "the run has other arenas than its plan")
            check(peak <= budget + PROCESS_BYTES, "the run exceeds its budget")
            check(stats["read_bytes"] <= stats["planned_read_bytes"], "the run reads more than planned")
            check(output == reference, "the output has changed")
            check(planned <= previous, "a larger budget is planned to take longer")
            previous = planned

        refused = self.replan(minimum - MIB)
        check(refused.returncode == 1 and str(minimum) in refused.stderr,
              f"less than the minimum is not refused by naming it: {refused.stderr}")

    def measure(self, budget):
        """Output bytes and plan of a budget; of everything resident where it is None."""
        planned = self.replan(budget)
        check(planned.returncode == 0, planned.stderr)
        inputs = [flag for text in self.arguments.input for flag in ("--input", text)]
        ran = self.spillway("run", self.bundle, *inputs, "--output", f"{self.arguments.output}={self.output}",
                            "--stats", self.stats, "--repeat", "3")
        check(ran.returncode == 0, ran.stderr)
        described = self.spillway("inspect", self.bundle, "--json")
        check(described.returncode == 0, described.stderr)
        with open(self.output, "rb") as output:
            return output.read(), json.loads(described.stdout)["plan"]

    def replan(self, budget):
        memory = [] if budget is None else ["--memory", str(max(0, budget))]
        return self.spillway("replan", self.arguments.bundle, "-o", self.bundle, "--threads",
                             self.arguments.threads, *memory)

    def spillway(self, *arguments):
        return subprocess.run([self.arguments.spillway, *arguments], capture_output=True, text=True)


def arena_bytes(plan):
    return sum(arena["bytes"] for arena in plan["arenas"])


def check(holds, what):
    if not holds:
        sys.exit(f"budget_sweep: {what}")


if __name__ == "__main__":
    main()
