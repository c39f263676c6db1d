"""check_training.py data FOLDER: makes files of samples from the inputs of the run in FOLDER, which
are batches by step.
check_training.py killed COMMAND...: kills the command at random moments until it comes to its end.
check_training.py logs FOLDER LOG...: compares the first log with the run, and the others with the
first log, bit for bit."""

import json
import pathlib
import random
import subprocess
import sys
import time


def make_data(folder):
    for name in ("input_ids", "labels"):
        data = pathlib.Path(folder, name + ".npy").read_bytes()
        length = int.from_bytes(data[8:10], "little")
        header = eval(data[10 : 10 + length])
        steps, batch, *rest = header["shape"]
        header["shape"] = (steps * batch, *rest)
        text = str(header).ljust(length - 1).encode() + b"\n"
        pathlib.Path(name + ".npy").write_bytes(data[:10] + text + data[10 + length :])


def kill_until_done(*command):
    random.seed(1)
    kills = 0
    while True:
        process = subprocess.Popen([*command, "--throttle-write", "3MB/s"])
        # Later and later, so that a slow machine comes to the end too.
        time.sleep(random.uniform(0.02, 0.5 + 0.1 * kills))
        process.kill()
        if process.wait() == 0:
            break
        kills += 1
    assert kills > 2, f"killed {kills} times only"


def check_logs(folder, first, *others):
    run = json.load(open(pathlib.Path(folder, "run.json")))
    lines = [json.loads(line) for line in open(first)]
    assert [line["step"] for line in lines] == list(range(1, 21))
    for line, loss, norm in zip(lines, run["losses"], run["grad_norms"]):
        assert abs(line["loss"] - loss) <= run["tolerance"]["loss_abs"], (line, loss)
        assert abs(line["grad_norm"] - norm) <= run["tolerance"]["grad_norm_rel"] * norm, (line, norm)
    by_step = {line["step"]: (line["loss"], line["grad_norm"], line["lr"]) for line in lines}
    for other in others:
        for line in map(json.loads, open(other)):
            assert by_step[line["step"]] == (line["loss"], line["grad_norm"], line["lr"]), (other, line)
        assert line["step"] == 20


command, *arguments = sys.argv[1:]
{"data": make_data, "killed": kill_until_done, "logs": check_logs}[command](*arguments)
