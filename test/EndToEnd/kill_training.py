"""kill_training.py KILLS FRESH REFERENCE LOG -- OPTION...: trains copies of the bundle FRESH with `spillway train` and the
options, kills each at random moments and resumes it until it comes to its end, KILLS times in all. After each kill no step is
lost but the one in flight; at each end the exported model is REFERENCE, bit for bit, and the log has the losses of LOG, a
line for each step."""

import filecmp
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

kills, fresh, reference, log = sys.argv[1:5]
options = sys.argv[6:]
expected = {line["step"]: line["loss"] for line in map(json.loads, open(log))}


def command(throttle):
    return ["spillway", "train", "k.spill", *options, "--log", "k.jsonl", *(["--throttle-write", throttle] if throttle else [])]


def start():
    shutil.rmtree("k.spill", ignore_errors=True)
    shutil.copytree(fresh, "k.spill")
    if os.path.exists("k.jsonl"):
        os.remove("k.jsonl")


def logged():
    """The lines of the log; the last one may have been cut."""
    if not os.path.exists("k.jsonl"):
        return []
    lines = [json.loads(line) for line in open("k.jsonl").read().split("\n")[:-1]]
    for line in lines:
        assert line["loss"] == expected[line["step"]], line
    return lines


def committed():
    text = subprocess.run(["spillway", "inspect", "k.spill", "--json"], check=True, capture_output=True).stdout
    return json.loads(text)["committed_steps"]


def check_end():
    subprocess.run(["spillway", "inspect", "--verify", "k.spill"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["spillway", "export", "k.spill", "-o", "k.onnx"], check=True, stdout=subprocess.DEVNULL)
    assert filecmp.cmp("k.onnx", reference, shallow=False), "other weights"
    assert committed() == len(expected)
    steps = [line["step"] for line in logged()]
    assert steps == sorted(expected), f"the log has the steps {steps}"


def main():
    random.seed(5)
    start()
    begin = time.monotonic()
    subprocess.run(command(None), check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - begin
    check_end()
    start()
    done, ends, before = 0, 0, 0
    while done < int(kills):
        # Every other time so slowly that most kills come while something is written.
        process = subprocess.Popen([*command([None, "3MB/s"][done % 2]), "--resume"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(random.uniform(0, seconds))
        process.kill()
        code = process.wait()
        if code == 0:
            check_end()
            ends += 1
            before = 0
            start()
            continue
        assert code == -signal.SIGKILL, f"ended with {code}"
        done += 1
        there, told = committed(), max((line["step"] for line in logged() if line["committed"]), default=0)
        assert there >= max(before, told), f"step {told} was committed, and step {before} before the kill; now {there}"
        before = there
    subprocess.run([*command(None), "--resume"], check=True, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    check_end()
    print(f"{done} kills, {ends + 1} trainings came to their end")


main()
