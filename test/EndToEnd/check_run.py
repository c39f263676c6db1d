"""check_run.py STATS BUDGET: the arenas fit the budget, the process in 32 MiB more, and the
files were read as planned, past the page cache."""

import json
import sys

stats = json.load(open(sys.argv[1]))
budget = int(sys.argv[2])
arenas = sum(stats["arena_bytes"].values())
assert arenas <= budget, f"arenas of {arenas} bytes in a budget of {budget}"
peak = stats["peak_rss_bytes"]
assert peak <= budget + (32 << 20), f"{peak} bytes resident with a budget of {budget}"
read, planned = stats["read_bytes"], stats["planned_read_bytes"]
assert 0 < read <= 1.02 * planned, f"{read} bytes read, {planned} planned"
# The kernel counts the program, its libraries and the inputs too, where they were not cached; the
# plan counts a look-up's rows as if each lay in a piece of its own.
disk = stats["disk_read_bytes"]
assert 0.9 * planned <= disk <= 1.02 * planned + (16 << 20), f"{disk} bytes from the disk, {planned} planned"
