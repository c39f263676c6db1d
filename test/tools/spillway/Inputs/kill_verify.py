"""kill_verify.py SPILLWAY SUITE: kills a verify at work; its folder for temporary files must go."""

import os
import subprocess
import sys
import time

spillway, suite = sys.argv[1:]
folder = os.environ["TMPDIR"]
cases = [os.path.join(suite, "test_neg")] * 1000
process = subprocess.Popen([spillway, "verify", *cases], stdout=subprocess.PIPE)
assert process.stdout.readline().startswith(b"PASS")
assert os.listdir(folder)
process.kill()
process.wait()
deadline = time.monotonic() + 60
while os.listdir(folder):
    assert time.monotonic() < deadline, os.listdir(folder)
    time.sleep(0.01)
