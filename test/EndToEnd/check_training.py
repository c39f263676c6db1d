"""check_training.py data FOLDER [INPUT...]: makes files of samples from the inputs of the run in FOLDER (input_ids and
labels where none are named), which are batches by step, and first-NAME.npy of the first batch.
check_training.py logs FOLDER LOG...: compares the first log with the run, and the others with the
first log, bit for bit.
check_training.py near LOG LOG: compares two logs of what differs in the order of sums alone.
check_training.py rolled SAMPLES NAME...: makes rolled-NAME.npy, which begins SAMPLES later, and ends with those.
check_training.py scaled FOLDER|- LOG SCALE INTERVAL LEAST: that the scale of the loss began with SCALE and followed what overflowed, as at
least the first LEAST steps did, but not all; and compares with the run in FOLDER, where nothing may have overflowed.
check_training.py same LOG LOG: that two trainings had the same losses.
check_training.py held-out LOG LOSS.npy: compares the last loss of held-out samples with one that was computed."""

import json
import pathlib
import sys

import npy

def make_data(folder, *names):
    for name in names or ("input_ids", "labels"):
        data = pathlib.Path(folder, name + ".npy").read_bytes()
        length = int.from_bytes(data[8:10], "little")
        header = eval(data[10 : 10 + length])
        steps, batch, *rest = header["shape"]
        body = data[10 + length :]
        for file, samples in ((name, steps * batch), ("first-" + name, batch)):
            header["shape"] = (samples, *rest)
            text = str(header).ljust(length - 1).encode() + b"\n"
            pathlib.Path(file + ".npy").write_bytes(data[:10] + text + body[: len(body) * samples // (steps * batch)])


def make_rolled(samples, *names):
    for name in names:
        data = pathlib.Path(name + ".npy").read_bytes()
        start = 10 + int.from_bytes(data[8:10], "little")
        (count, *_), body = eval(data[10:start])["shape"], data[start:]
        cut = len(body) // count * int(samples)
        pathlib.Path(f"rolled-{name}.npy").write_bytes(data[:start] + body[cut:] + body[:cut])


def check_logs(folder, first, *others):
    run = json.load(open(pathlib.Path(folder, "run.json")))
    lines = [json.loads(line) for line in open(first)]
    assert [line["step"] for line in lines] == list(range(1, 21))
    for line, loss, norm in zip(lines, run["losses"], run["grad_norms"]):
        assert abs(line["loss"] - loss) <= run["tolerance"]["loss_abs"], (line, loss)
        assert abs(line["grad_norm"] - norm) <= run["tolerance"]["grad_norm_rel"] * norm, (line, norm)
    values = lambda line: [line.get(key) for key in ("loss", "grad_norm", "lr", "eval_loss")]
    by_step = {line["step"]: values(line) for line in lines}
    for other in others:
        for line in map(json.loads, open(other)):
            assert by_step[line["step"]] == values(line), (other, line)
        assert line["step"] == 20


def check_scaled(folder, log, scale, interval, least):
    lines = [json.loads(line) for line in open(log)]
    scale, interval, good = float(scale), int(interval), 0
    for line in lines:
        assert line["loss_scale"] == scale, line
        good = 0 if line["skipped"] else good + 1
        scale *= 0.5 if line["skipped"] else 1
        if good == interval:
            scale, good = 2 * scale, 0
    skipped = [line["skipped"] for line in lines]
    assert all(skipped[: int(least)]) and not all(skipped), skipped
    if folder != "-":
        run = json.load(open(pathlib.Path(folder, "run.json")))
        assert len(lines) == 20 and not any(skipped)
        for line, loss, norm in zip(lines, run["losses"], run["grad_norms"]):
            assert abs(line["loss"] - loss) <= 0.002 * loss, (line, loss)
            assert abs(line["grad_norm"] - norm) <= 0.01 * norm, (line, norm)


def check_same(*logs):
    first, second = ([json.loads(line)["loss"] for line in open(log)] for log in logs)
    assert first == second and first, (first, second)


def check_near(*logs):
    first, second = ([json.loads(line) for line in open(log)] for log in logs)
    assert len(first) == len(second) > 0
    for one, other in zip(first, second):
        for key in ("loss", "grad_norm", "eval_loss"):
            assert (key in one) == (key in other)
            assert abs(one.get(key, 0) - other.get(key, 0)) <= 1e-5 * abs(one.get(key, 0)), (key, one, other)
    assert "eval_loss" in first[-1]


def check_held_out(log, file):
    (loss,) = npy.read(file)[1]
    found = json.loads(open(log).read().splitlines()[-1])["eval_loss"]
    assert abs(loss - found) <= 2e-6 * loss, (loss, found)


command, *arguments = sys.argv[1:]
commands = {"data": make_data, "rolled": make_rolled, "logs": check_logs, "near": check_near, "same": check_same, "scaled": check_scaled,
            "held-out": check_held_out}
commands[command](*arguments)
