"""check_dropout.py formula LOG SEED RATIO ELEMENTS: compares the loss of each step, the mean of as many ones of which some are
dropped, with what the generator makes of seed, step and place.
check_dropout.py differs LOG LOG: that no step of two trainings has the same loss but the first, in which all classes are alike."""

import json
import sys


def threefry(key, counter):
    mask = 0xFFFFFFFF
    keys = [key & mask, key >> 32]
    keys.append(keys[0] ^ keys[1] ^ 0x1BD11BDA)
    x, y = (counter + keys[0]) & mask, ((counter >> 32) + keys[1]) & mask
    for group in range(5):
        for rotation in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = (x + y) & mask
            y = ((y << rotation | y >> 32 - rotation) & mask) ^ x
        x, y = (x + keys[(group + 1) % 3]) & mask, (y + keys[(group + 2) % 3] + group + 1) & mask
    return y << 32 | x


def losses(log):
    return [(line["step"], line["loss"]) for line in map(json.loads, open(log))]


def check_formula(log, seed, ratio, elements):
    seed, ratio, elements = int(seed), float(ratio), int(elements)
    found = losses(log)
    assert len(found) > 3
    for step, loss in found:
        key = threefry(threefry(seed, step), 0)
        kept = sum(threefry(key, i) & 0xFFFFFFFF >= ratio * 2**32 for i in range(elements))
        expected = kept / (1 - ratio) / elements
        assert abs(loss - expected) <= 1e-6, (step, loss, expected)
        # Five standard deviations.
        assert abs(expected - 1) <= 5 * (ratio / (1 - ratio) / elements) ** 0.5, expected


def check_differs(one, other):
    pairs = list(zip(losses(one), losses(other), strict=True))
    assert len(pairs) > 1 and all(a[1] != b[1] for a, b in pairs[1:]), pairs


command, *arguments = sys.argv[1:]
{"formula": check_formula, "differs": check_differs}[command](*arguments)
