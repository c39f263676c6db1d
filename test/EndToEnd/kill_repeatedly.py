"""kill_repeatedly.py COMMAND...: kills the command, which writes m.spill, at moments spread over its
whole run, and looks at what there is then."""

import os
import signal
import subprocess
import sys
import time

kills = 12


def verify():
    subprocess.run(["spillway", "inspect", "--verify", "m.spill"], check=True, stdout=subprocess.DEVNULL)


def leftBehind():
    return [name for name in os.listdir(".") if name.startswith("m.spill.")]


begin = time.monotonic()
subprocess.run(sys.argv[1:], check=True)
seconds = time.monotonic() - begin
for i in range(kills):
    # More of them at the end, where the old bundle is replaced.
    moment = seconds * (1 - (1 - i / kills) ** 2)
    process = subprocess.Popen(sys.argv[1:])
    time.sleep(moment)
    process.send_signal([signal.SIGKILL, signal.SIGINT, signal.SIGTERM][i % 3])
    process.wait()
    verify()
    # Who removes what it had begun outlives it for a moment.
    deadline = time.monotonic() + 20
    while (left := leftBehind()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not left, f"left behind: {left}"
subprocess.run(sys.argv[1:], check=True)
verify()
assert not leftBehind()
