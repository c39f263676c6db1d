"""make_seeds.py BIN OUT FOLDER...: seeds for the fuzzers in OUT/<reader>: small .onnx, .pb and .npy files found in
the folders, and small models made and compiled here."""

import hashlib
import itertools
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

LARGEST = 64 << 10

bin, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


def add(reader, data):
    if len(data) <= LARGEST:
        folder = out / reader
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha1(data).hexdigest()).write_bytes(data)


def add_bundle(bundle):
    add("Bundle", (bundle / "manifest.json").read_bytes())
    index = (bundle / "states.index").read_bytes()
    blocks = os.path.getsize(bundle / "states.bin") // 4096
    add("Table", struct.pack("<II", len(index), blocks) + index + (bundle / "table.bin").read_bytes())


for folder in sys.argv[3:]:
    for suffix, reader in ((".onnx", "Import"), (".pb", "TensorProto"), (".npy", "Npy")):
        for path in pathlib.Path(folder).rglob("*" + suffix):
            add(reader, path.read_bytes())

with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for kind, hidden in itertools.product(("gpt2", "llama"), (32, 128)):
        model = folder / f"{kind}.onnx"
        subprocess.run([bin / "spillway-modelgen", kind, model, "--layers=1", f"--hidden={hidden}", "--heads=2",
                        "--vocab=65", "--ctx=16", "--dynamic", "--outputs", "logits"], check=True,
                       stdout=subprocess.DEVNULL)
        add("Import", model.read_bytes())
        # What is resident, streamed, split over ranks, in three tiers, left in the model's file.
        for i, options in enumerate((["--memory=1GiB"], ["--memory=512KiB"], ["--memory=512KiB", "--ranks=2"],
                                     ["--tiers=device=512KiB,host=512KiB"], ["--memory=1GiB", "--link-weights"])):
            bundle = folder / f"{kind}-{hidden}-{i}.spill"
            subprocess.run([bin / "spillway", "compile", model, "-o", bundle, "--dim=batch=1", "--dim=sequence=8",
                            *options], check=True)
            add_bundle(bundle)
