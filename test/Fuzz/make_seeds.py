"""make_seeds.py BIN OUT FOLDER...: seeds for the fuzzers in OUT/<reader>: small .onnx, .pb and .npy files found in
the folders, and small models made and compiled here."""

import hashlib
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
    for kind in ("gpt2", "llama"):
        model = folder / f"{kind}.onnx"
        subprocess.run([bin / "spillway-modelgen", kind, model, "--layers=1", "--hidden=32", "--heads=2", "--vocab=65",
                        "--ctx=16", "--dynamic", "--outputs", "logits"], check=True, stdout=subprocess.DEVNULL)
        add("Import", model.read_bytes())
        for memory in ("4GiB", "1MiB"):
            bundle = folder / f"{kind}-{memory}.spill"
            subprocess.run([bin / "spillway", "compile", model, "-o", bundle, "--dim=batch=1", "--dim=sequence=8",
                            f"--memory={memory}"], check=True)
            add_bundle(bundle)
