"""Writes random token ids as a .npy file: make_ids.py FILE BATCH SEQUENCE VOCAB [SEED]."""

import random
import struct
import sys

path, batch, sequence, vocab = sys.argv[1], *map(int, sys.argv[2:5])
random.seed(int(sys.argv[5]) if len(sys.argv) > 5 else 0)
header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({batch}, {sequence}), }}"
header += " " * (-(10 + len(header) + 1) % 64) + "\n"
ids = [random.randrange(vocab) for _ in range(batch * sequence)]
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
    file.write(struct.pack(f"<{len(ids)}q", *ids))
