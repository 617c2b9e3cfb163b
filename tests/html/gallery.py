#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gallery.py [DIRECTORY]: the pictures of docs/gallery.md, made anew from recorded jobs and a large generated one, and
sizes and times of their pages and traces. Without a directory they go into docs/gallery, and the table into
docs/gallery.md, between the marks there. Traces are drawn by Chrome's viewer where RANKWATCH_CATAPULT names a checkout
of it (trace_viewer.py); else their pictures stay as they are. By hand: meson devenv -C build python3
../tests/html/gallery.py"""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TAPES = HERE.parent / "tapes"
RANKWATCH, PLAYER, LARGE_JOB = (os.environ[f"TEST_{name}"] for name in ("RANKWATCH", "TAPE_PLAYER", "LARGE_JOB"))
PAGE = HERE.parent.parent / "docs" / "gallery.md"
BEGIN, END = "<!-- sizes: gallery.py -->\n", "<!-- end of sizes -->"
MOST = 150_000  # bytes of a picture
TRACES = ("io-rank0", "never")
TRACE_HEIGHT = 612  # of the viewer's tracks in a window of 900; the rest is for what is selected
TIMES = 3  # a page is drawn and a file is made so often, a large one once: the least counts

sys.path.insert(0, str(HERE))
import browser  # noqa: E402
import trace_viewer  # noqa: E402

# name, what is at the top of the picture, its height, in dark
PICTURES = {
    "never": (("first", "#verdict", 900, False), ("first-dark", "#verdict", 900, True),
              ("event", "#around", 600, True)),
    "io-rank0": (("first", "#verdict", 860, True), ("first-light", "#verdict", 860, False),
                 ("event", "#around", 600, False)),
    "nan-mesh": (("first", "#verdict", 900, False), ("first-dark", "#verdict", 900, True),
                 ("values", "#values", 860, True)),
    "large": (("first", "#verdict", 850, False), ("ranks", "#ranks", 760, True)),
}


# By name: what is found, around which a trace is made, too.
FOUND = {"never": "hang", "io-rank0": "straggler", "nan-mesh": "nan", "large": "straggler"}


def boxes_of(name, directory):
    boxes = directory / name
    boxes.mkdir()
    if name == "large":
        subprocess.run([LARGE_JOB, boxes, "256", "600"], check=True)
    else:
        subprocess.run([PLAYER, TAPES / f"{name}.tape", "boxes", boxes], check=True)
    return boxes


def say_size(picture):
    size = picture.stat().st_size
    print(f"{picture.name}: {size / 1e3:.0f} kB{' TOO LARGE' if size > MOST else ''}", flush=True)


def take_trace(page, name, boxes, result):
    path, _, _ = trace_viewer.make_page(name, boxes, boxes.parent)
    trace_viewer.shown(page, path, height=900)
    page.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.picture(result / f"{name}-trace.png", height=TRACE_HEIGHT)
    say_size(result / f"{name}-trace.png")


def take(page, name, path, result):
    for part, selector, height, dark in PICTURES[name]:
        page.show(path, height=height, dark=dark)
        page.run("document.documentElement.style.scrollBehavior = 'auto'; "
                 f"document.querySelector('{selector}').scrollIntoView()")
        picture = result / f"{name}-{part}.png"
        page.picture(picture)
        say_size(picture)


def made(times, *command):
    """Seconds of CPU, the least of some: also on a machine that has other work."""
    seconds = []
    for _ in range(times):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([RANKWATCH, *command], check=True, stderr=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(seconds)


def drawn(page, path, dark):
    return min(page.show(path, height=900, dark=dark) for _ in range(TIMES))


def size_text(size):
    return f"{size / 1e6:.2f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"


def row_of(page, name, boxes, path):
    """What it takes to make a page and traces of these boxes, as a row of the table."""
    large = name == "large"
    times = 1 if large else TIMES
    report = made(times, "report", "--html", path, boxes)
    cells = ["256 ranks, 600 s" if large else f"`{name}`",
             size_text(sum(box.stat().st_size for box in boxes.iterdir())),
             size_text(path.stat().st_size), f"{report:.2f} s",
             f"{drawn(page, path, False):.2f} s, {drawn(page, path, True):.2f} s"]
    for suffix, only in ((".pftrace.gz", ()), (".json.gz", ()), (".pftrace", ()),
                         (".pftrace", ("--around", FOUND[name]))):
        trace = path.with_suffix(suffix)
        seconds = made(times, "trace", *only, "-o", trace, boxes)
        cells.append(f"{size_text(trace.stat().st_size)}, {seconds:.2f} s")
        trace.unlink()
    print(" | ".join(cells), flush=True)
    return f"| {' | '.join(cells)} |"


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as cpus:
        names = [line.split(":", 1)[1].strip() for line in cpus if line.startswith("model name")]
    version = subprocess.run([browser.find(), "--version"], capture_output=True, text=True, check=True).stdout.split()
    return (f"{len(names)} × {names[0] if names else 'a processor without a name'}, Chromium "
            f"{next((word for word in version if word[0].isdigit()), '?')}")


def write_table(rows):
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    head = ("| job | boxes | page | made in | drawn after, light, dark | `.pftrace.gz`, made in | `.json.gz`, made in "
            "| `.pftrace`, made in | `.pftrace` of `--around` the finding, made in |\n"
            "|---|---|---|---|---|---|---|---|---|\n")
    told = (f"\nMade in: seconds of CPU. Drawn after: from navigation to the second frame. Each the least of {TIMES} "
            f"(what is made of 256 ranks: once), on {machine()}, "
            f"load {os.getloadavg()[0]:.0f}, {time.strftime('%Y-%m-%d')}.\n")
    PAGE.write_text(before + BEGIN + head + "\n".join(rows) + "\n" + told + END + after, encoding="utf-8")


def main(result):
    result = result or PAGE.parent / "gallery"
    result.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as one, browser.Browser() as page:
        for name in PICTURES:
            boxes = boxes_of(name, pathlib.Path(one))
            path = pathlib.Path(one) / f"{name}.html"
            rows.append(row_of(page, name, boxes, path))
            take(page, name, path, result)
            if name in TRACES and trace_viewer.checkout():
                take_trace(page, name, boxes, result)
    if len(sys.argv) < 2:
        write_table(rows)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None)
