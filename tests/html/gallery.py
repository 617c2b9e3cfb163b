#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gallery.py [DIRECTORY]: the pictures of docs/gallery.md, made anew from recorded jobs and a large generated one, with sizes and times.
By hand: meson devenv -C build python3 ../tests/html/gallery.py"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TAPES = HERE.parent / "tapes"
RANKWATCH, PLAYER, LARGE_JOB = (os.environ[f"TEST_{name}"] for name in ("RANKWATCH", "TAPE_PLAYER", "LARGE_JOB"))
MOST = 150_000  # bytes of a picture

sys.path.insert(0, str(HERE))
import browser  # noqa: E402

# name, what is at the top of the picture, its height, in dark
PICTURES = {
    "never": (("first", "#verdict", 900, False), ("event", "#around", 600, True)),
    "io-rank0": (("first", "#verdict", 900, True), ("event", "#around", 600, False)),
    "nan-mesh": (("first", "#verdict", 900, False), ("values", "#values", 860, True)),
    "large": (("first", "#verdict", 860, False), ("ranks", "#ranks", 760, True)),
}


def boxes_of(name, directory):
    boxes = directory / name
    boxes.mkdir()
    if name == "large":
        subprocess.run([LARGE_JOB, boxes, "256", "600"], check=True)
    else:
        subprocess.run([PLAYER, TAPES / f"{name}.tape", "boxes", boxes], check=True)
    return boxes


def take(page, name, path, result):
    for part, selector, height, dark in PICTURES[name]:
        seconds = page.show(path, height=height, dark=dark)
        page.run(f"document.documentElement.style.scrollBehavior = 'auto'; document.querySelector('{selector}').scrollIntoView()")
        picture = result / f"{name}-{part}.png"
        page.picture(picture)
        size = picture.stat().st_size
        print(f"{picture.name}: {size / 1e3:.0f} kB, page drawn after {seconds:.2f} s{' TOO LARGE' if size > MOST else ''}", flush=True)


def main(result):
    result.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as one, browser.Browser() as page:
        for name in PICTURES:
            boxes = boxes_of(name, pathlib.Path(one))
            path = pathlib.Path(one) / f"{name}.html"
            began = time.monotonic()
            subprocess.run([RANKWATCH, "report", "--html", path, boxes], check=True, stderr=subprocess.DEVNULL)
            print(f"{name}: {path.stat().st_size / 1e6:.2f} MB, made in {time.monotonic() - began:.1f} s", flush=True)
            take(page, name, path, result)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent.parent / "docs" / "gallery")
