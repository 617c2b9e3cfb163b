#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wheel.py TREE VERSION TAG DIRECTORY: makes the wheel of the relocatable tree and of packaging/python, with the
standard library alone. The same files give the same bytes; the time of all is SOURCE_DATE_EPOCH."""
import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

HERE = pathlib.Path(__file__).parent
# Of the tree: what lies in the module, and what belongs to the whole environment.
PARTS = ["bin/rankwatch", "bin/rankwatch.bin", "lib/libnccl-profiler-rankwatch.so", "lib/librankwatch-drill.so",
         "share/rankwatch", "share/doc/rankwatch", "include"]
SHARED = ["share/man/man1", "share/bash-completion", "share/zsh", "share/fish"]
METADATA = """\
Metadata-Version: 2.1
Name: rankwatch
Version: {version}
Summary: Names the rank of a training job that is late, hangs, or made a NaN
License: MIT
Requires-Python: >=3.8
Classifier: Operating System :: POSIX :: Linux
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{description}"""
WHEEL = "Wheel-Version: 1.0\nGenerator: rankwatch scripts/package\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n"
ENTRY_POINTS = "[console_scripts]\nrankwatch = rankwatch._command:main\n"


def files_below(folder, part):
    """Paths of files, in order. A part that is not there is an error: the tree is not whole."""
    path = folder / part
    if path.is_file():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    if not found:
        sys.exit(f"wheel: {path} is missing")
    return found


def contents(tree, version, tag):
    """Name in the archive → bytes and mode."""
    about, data = f"rankwatch-{version}.dist-info", f"rankwatch-{version}.data/data"
    made = {}
    for file in files_below(HERE / "python", "rankwatch"):
        made[str(file.relative_to(HERE / "python"))] = file.read_bytes(), 0o644
    for part in PARTS:
        for file in files_below(tree, part):
            mode = 0o755 if os.access(file, os.X_OK) else 0o644
            made[f"rankwatch/_tree/{file.relative_to(tree)}"] = file.read_bytes(), mode
    for part in SHARED:
        for file in files_below(tree, part):
            made[f"{data}/{file.relative_to(tree)}"] = file.read_bytes(), 0o644
    description = (HERE / "python" / "README.md").read_text(encoding="utf-8")
    texts = {"METADATA": METADATA.format(version=version, description=description), "WHEEL": WHEEL.format(tag=tag),
             "entry_points.txt": ENTRY_POINTS, "LICENSE": (HERE.parent / "LICENSE").read_text(encoding="utf-8")}
    for name, text in texts.items():
        made[f"{about}/{name}"] = text.encode(), 0o644
    record = [f"{name},sha256={digest(content)},{len(content)}\n" for name, (content, _) in made.items()]
    made[f"{about}/RECORD"] = "".join(record + [f"{about}/RECORD,,\n"]).encode(), 0o644
    return made


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def main():
    tree, version, tag, directory = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4])
    moment = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), 315532800))[:6]  # zip begins in 1980
    with zipfile.ZipFile(directory / f"rankwatch-{version}-py3-none-{tag}.whl", "w") as archive:
        for name, (content, mode) in contents(tree, version, tag).items():
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compresslevel=9)


if __name__ == "__main__":
    main()
