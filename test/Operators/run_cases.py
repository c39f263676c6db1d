"""Runs the cases of a file: models in JSON with inputs, and the outputs that are expected.

usage: run_cases.py CASES.json FOLDER [spillway verify's options]
"""

import json
import os
import subprocess
import sys


def varint(value):
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


NUMBERS = {"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9, "f16": 10,
           "f64": 11, "u32": 12, "u64": 13, "bf16": 16}


def tensor_proto(tensor):
    raw = bytes.fromhex(tensor["hex"])
    dims = b"".join(b"\x08" + varint(dim) for dim in tensor["dims"])
    return dims + b"\x10" + varint(NUMBERS[tensor["type"]]) + b"\x4a" + varint(len(raw)) + raw


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def main():
    cases, folder, options = sys.argv[1], sys.argv[2], sys.argv[3:]
    folders = []
    for line in open(cases):
        case = json.loads(line)
        place = os.path.join(folder, case["name"])
        data = os.path.join(place, "test_data_set_0")
        os.makedirs(data, exist_ok=True)
        write(os.path.join(place, "model.json"), json.dumps(case["model"]).encode())
        subprocess.run(["spillway-modelgen", "json", os.path.join(place, "model.json"),
                        os.path.join(place, "model.onnx")], check=True)
        for kind in ("input", "output"):
            for i, tensor in enumerate(case[kind + "s"]):
                write(os.path.join(data, f"{kind}_{i}.pb"), tensor_proto(tensor))
        folders.append(place)
    sys.exit(subprocess.run(["spillway", "verify", *options, *folders]).returncode)


main()
