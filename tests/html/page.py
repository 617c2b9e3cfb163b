#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""page.py: pages of recorded jobs, of one whose names are markup, of damaged boxes and of a large generated job: their
data against `report --json`, and in a headless Chromium what an engineer sees first, hover, keys, light and dark, and
that nothing complains."""

import base64
import gzip
import json
import os
import pathlib
import pty
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tapes"))  # before the library's own trace

import browser  # noqa: E402
import recorded  # noqa: E402
import trace  # noqa: E402
from recorded import RANKWATCH, check, finish  # noqa: E402

DAMAGED_PAGES = 5  # of new ones in each run; the fuzzers draw many more
LARGE_JOB = os.environ["TEST_LARGE_JOB"]
MARKUP = "</script><script>window.evil=1</script><!--\u2028\u202e\"'&"
NAMES = ("io-rank0", "nan-mesh", "never")
VERDICTS = {"io-rank0": ("Rank 0", "straggler"), "nan-mesh": ("Rank 1", "nan"), "never": ("Rank 4", "hang")}


def report(*arguments, **options):
    return subprocess.run([RANKWATCH, "report", *map(str, arguments)], capture_output=True, text=True, **options)


def data_of(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def make(boxes, directory, name):
    path = directory / f"{name}.html"
    done = report("--html", path, boxes)
    check(done.returncode == 0 and path.exists() and not done.stdout,
          f"{name}: a page of {path.stat().st_size if path.exists() else 0} bytes, {done.stderr.strip()}")
    check(path.stat().st_mode & 0o777 == 0o600, "its names are the job's: nobody else may read it")
    return path


# Without a browser


def check_text(name, boxes):
    """As text the verdict stands first, too, under the job's name."""
    lines = report(boxes).stdout.splitlines()
    check(lines[0].startswith("job ") and not lines[1] and lines[2].startswith(VERDICTS[name][1].upper()),
          f"{name}: {lines[:4]}")
    told = "\n".join(lines)
    check(-1 < told.find("\n  do  ") < told.find("\nranks  "), "with what to do, and what it rests on behind it")


def check_data(name, boxes, path):
    data = data_of(path)
    told = [json.loads(line) for line in report("--json", boxes).stdout.splitlines()]
    found = [one["id"] for one in told if "kind" in one]
    check(sorted(one["id"] for one in data["findings"] if one["severity"] != "notice") == sorted(found),
          f"{name}: the findings are those of report: {found}")
    flights = [one["flight"]["sequence"] for one in told if "flight" in one]
    check([one["sequence"] for one in data["flights"]] == flights, f"what was in flight, too: {flights}")
    check([row["rank"] for row in data["rows"]] == list(range(8)), "a row for each rank")
    heat = data["heat"]
    kinds = {kind: base64.b64decode(heat[kind]) for kind in ("own", "wait", "transfer", "unseen", "open", "late")}
    check(all(len(cells) == 8 * heat["columns"] for cells in kinds.values()), "as many cells as rows and columns")
    off = 0
    for row, totals in enumerate(heat["totals"]):
        for kind, total in zip(("own", "wait", "transfer", "unseen", "open"), totals):
            cells = kinds[kind][row * heat["columns"]:(row + 1) * heat["columns"]]
            off = max(off, abs(sum(cells) / 255 * heat["bucket"] - total) / (sum(totals) or 1))
    check(off < .01, f"cells add up to each rank's total ({off:.4f} off)")
    longest = max(sum(totals) for totals in heat["totals"])
    check(.9 * data["job"]["end"] < longest + 2e6 and longest <= data["job"]["end"] * 1.01,
          f"and to the run's length: {longest} of {data['job']['end']} µs")
    return data, kinds


def check_story(name, data, kinds):
    late = [sum(kinds["late"][row * data["heat"]["columns"]:(row + 1) * data["heat"]["columns"]]) for row in range(8)]
    if name in ("io-rank0", "never"):
        rank = data["findings"][0]["ranks"][0]
        check(late.index(max(late)) == rank, f"rank {rank} is the one that others waited for: {late}")
    if name == "never":
        columns = data["heat"]["columns"]
        last = [{kind: cells[row * columns + columns - 2] for kind, cells in kinds.items()} for row in range(8)]
        check(all((one["open"] > 200) == (row != 4) for row, one in enumerate(last)),
              "at the end all but rank 4 stand in what never ended")
    if name == "nan-mesh":
        births = data["numbers"]["births"]
        check({1} <= {one["rank"] for one in births if one["side"] == "input"} and len(births) == 8,
              "each rank's first bad value, rank 1's in its input")


LONG = "all ranks together, in work of their own"


def check_shown(name, boxes, path, labels):
    """What looks like a failure and is none: in text, as JSON and in the page the same."""
    text = report(boxes).stdout
    told = [json.loads(line) for line in report("--json", boxes).stdout.splitlines()][-1]["explanation"]
    head = next(part for part in text.split("\n\n") if part.startswith("ranks ")).splitlines()
    head = [line[:10].strip() for line in head]
    check([label for label in head if label in ("loss", "memory", "long")] == labels,
          f"{name}: what looks like a failure stands behind the findings: {head}")
    check((told["loss"] is not None) == ("loss" in labels), f"{name}: programs read it, too: {told['loss']}")
    shown = data_of(path)["job"]["shown"]
    check([label for label, _ in shown] == labels and all(line in " ".join(text.split()) for _, line in shown),
          f"{name}: the page says the same: {shown}")


def made_twice(directory):
    """A rank that makes a NaN, is clean, and makes another: two findings of one id, in the text, as JSON, in the trace
    and on the page."""
    (directory / "nan-twice").mkdir()
    boxes = trace.boxes_of("nan-twice", directory / "nan-twice")
    both = [f"rank 5 brought 1 NaN into ReduceScatter #{sequence} on ~fsdp in step {step}" for sequence,
            step in ((42, 8), (66, 12))]
    told = [one for one in (json.loads(line) for line in report("--json", boxes).stdout.splitlines()) if "kind" in one]
    check([one["text"] for one in told] == both and told[0]["id"] == told[1]["id"],
          f"nan-twice: report tells both: {[one['text'] for one in told]}")
    check([one["state"] for one in told] == ["closed", "open"], "of which the first is over")
    text = " ".join(report(boxes).stdout.split())
    check(0 < text.find("#42") < text.find("#66"), "as text, too, in order")
    made = subprocess.run([RANKWATCH, "trace", "--format", "chrome", "-o", "-", boxes], capture_output=True, text=True)
    check(all(f"NAN: {one}" in made.stdout for one in both), f"the trace has both {made.stderr.strip()}")
    path = make(boxes, directory, "nan-twice")
    check([one["text"] for one in data_of(path)["findings"]] == both, "the page has both")
    return path


def check_twice_shows(page, path):
    show(page, path)
    verdict = page.run("document.querySelector('#verdict').textContent")
    check("in step 8" in verdict and "also" in verdict and "in step 12" in verdict,
          f"the verdict names both: {verdict}")


def with_pauses(directory):
    """Eight ranks: a late one from the middle on, and a checkpoint every 240 steps, in which all pause."""
    boxes = directory / "pauses"
    boxes.mkdir()
    subprocess.run([LARGE_JOB, boxes, "8", "400"], check=True)
    return boxes


def check_command(directory, boxes):
    check(report("--html", "-", boxes).stdout.startswith("<!DOCTYPE html>"), "through a pipe")
    done = report("--html", "/dev/full", boxes)
    check(done.returncode == 1 and "No space left" in done.stderr, f"a full disk is said: {done.stderr.strip()}")
    for wrong in (("--json",), ("--all",)):
        done = report("--html", directory / "none.html", *wrong, boxes)
        check(done.returncode == 2 and not (directory / "none.html").exists(), f"not with {wrong[0]}")
    check(report("--html", directory / "coded.html", "--exit-code", boxes).returncode == 5, "--exit-code")
    (directory / "coded.html").unlink()
    done = report("--html", directory / "missing" / "page.html", boxes)
    check(done.returncode == 1 and "No such file" in done.stderr, "no directory, no page")


def renamed(boxes, directory):
    """The boxes with a job and a host whose names are markup."""
    result = directory / "renamed"
    result.mkdir()
    for box in boxes.iterdir():
        content = bytearray(gzip.open(box).read())
        for field in (b"tape\0", b"node-0\0"):
            at = content.index(field)
            content[at:at + 64] = MARKUP.encode()[:63].ljust(64, b"\0")
        (result / box.name).write_bytes(gzip.compress(content, 1))
    return result


def check_damaged(boxes, directory):
    seed = int(os.environ.get("RANKWATCH_TEST_SEED", random.SystemRandom().getrandbits(32)))
    print(f"INFO: Seed {seed}")
    chance, wrong = random.Random(seed), 0
    damaged = directory / "damaged"
    damaged.mkdir()
    for _ in range(DAMAGED_PAGES):
        for box in chance.sample(sorted(boxes.iterdir()), 2):
            (damaged / box.name.removesuffix(".gz")).write_bytes(trace.damage(box, chance))
        path = directory / "damaged.html"
        done = report("--html", path, damaged)
        wrong += done.returncode not in (0, 1, 3) or (done.returncode == 1 and not done.stderr)
        if done.returncode != 1:
            data_of(path)
        for box in damaged.iterdir():
            box.unlink()
    check(not wrong, f"{wrong} of {DAMAGED_PAGES} pages of damaged boxes end in neither a page nor a sentence")


def large(directory):
    boxes = directory / "large"
    boxes.mkdir()
    subprocess.run([LARGE_JOB, boxes, "256", "25"], check=True)
    return boxes


def files(directory):
    return {one.relative_to(directory) for one in directory.rglob("*") if one.is_file()}


def interrupt(command, half, directory, whole=0):
    """Sends SIGINT while a file is being written whose name is one of a half file, and so many whole ones are there."""
    process = subprocess.Popen([RANKWATCH, *map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not (begun := any(half(one.name) for one in files(directory))
               and len(files(directory)) > whole) and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    process.wait()
    left = {one for one in files(directory) if half(one.name)}
    check(begun and not left and process.returncode == -signal.SIGINT,
          f"Ctrl-C leaves no half file: {command[0]}: {process.returncode} {left}")


def check_interrupted(boxes, directory):
    """What was whole by then stays."""
    for name in ("a page", "a trace", "saved", "fr"):
        (directory / name).mkdir()
    interrupt(["report", "--html", directory / "a page" / "x", boxes], lambda name: name.startswith("x"),
              directory / "a page")
    interrupt(["trace", "--format", "chrome", "-o", directory / "a trace" / "x", boxes],
              lambda name: name.startswith("x"), directory / "a trace")
    interrupt(["save", "--to", directory / "saved", boxes], lambda name: name.startswith("."), directory / "saved", 3)
    interrupt(["dump", "--flight-recorder", directory / "fr", boxes], lambda name: name.startswith("."),
              directory / "fr", 3)
    whole = len(files(directory / "saved"))
    kept = subprocess.run([RANKWATCH, "dump", "--header", directory / "saved"], capture_output=True, text=True,
                          check=False)
    check(kept.returncode == 0 and len(kept.stdout.splitlines()) == whole > 2,
          f"the {whole} boxes that were saved are whole")


def seen_on_a_terminal(*command, until=None):
    """What a command writes on standard error where that is a terminal; until a pattern stands there, which is
    enough."""
    mine, terminal = pty.openpty()
    process = subprocess.Popen([RANKWATCH, *map(str, command)], stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    seen = b""
    while True:
        try:
            piece = os.read(mine, 4096)
        except OSError:  # nobody has the other end any more
            break
        seen += piece
        if until and until.search(seen.decode(errors="replace")):
            process.kill()
    os.close(mine)
    process.wait()
    return seen.decode(errors="replace")


PROGRESS = re.compile(r"\r[a-z0-9: ]*\w+ing 256 (?:black boxes|ranks): (\d+) %")


def check_progress(boxes, directory):
    """One line that is written over, and taken away in the end."""
    commands = {"explain": [boxes], "hosts": [boxes], "diff": [boxes, boxes], "dump": [boxes],
                "save": ["--to", directory / "saved", boxes], "top": ["--once", boxes]}
    for command, arguments in commands.items():
        seen = seen_on_a_terminal(command, *arguments, until=PROGRESS)
        check(PROGRESS.search(seen), f"{command} shows how far it is: {seen[:200]}")
    seen = seen_on_a_terminal("report", boxes)
    shares = [int(share) for share in PROGRESS.findall(seen)]
    check(shares and max(shares) <= 100 and seen.rindex("\r\x1b[K") > seen.rindex(" %"),
          f"report takes the line away: {shares[:8]} {seen[:200] if not shares else ''}")


# With one


def show(page, path, **options):
    seconds = page.show(path, **options)
    check(not page.problems, f"{path.name} {options}: drawn after {seconds:.2f} s, complaints: {page.problems}")
    return seconds


def check_first_screen(page, name, path):
    show(page, path)
    who, kind = VERDICTS[name]
    check(page.run("document.querySelector('h1').textContent") == who, f"{name}: the page says {who}")
    check(page.run("document.querySelector('.kind').textContent").lower() == kind, f"and {kind}")
    bottom = page.run("document.querySelector('#verdict').getBoundingClientRect().bottom")
    check(bottom < 720, f"the verdict ends at {bottom:.0f} of 720")
    check(page.run("[...document.querySelectorAll('#verdict dt')].some(one => one.textContent === 'what to do')"),
          "and says what to do")
    check(page.run("document.querySelectorAll('section').length") == 8, "all parts are there")
    check(page.run("document.documentElement.scrollWidth <= innerWidth"), "nothing is wider than the screen")
    check(page.run("[...document.querySelectorAll('canvas')].every(one => one.width > 100 && "
                   "one.getAttribute('aria-label'))"), "every drawing is drawn, and has a name")


def check_phone(page, path):
    """Tables scroll in their part; the page does not, and no row becomes a column of single letters."""
    show(page, path, width=390, height=844)
    check(page.run("document.documentElement.scrollWidth") == 390,
          f"{path.name}: nothing is wider than a phone: {page.run('document.documentElement.scrollWidth')}")
    tallest = page.run("Math.max(0, ...[...document.querySelectorAll('.list tr')].map(row => "
                       "row.getBoundingClientRect().height))")
    check(tallest < 120, f"no row of a table is taller than a few lines: {tallest:.0f}")


def tip(page):
    return page.run("document.querySelector('#tip').hidden ? '' : document.querySelector('#tip').textContent")


def check_hover_and_keys(page, path):
    show(page, path)
    page.run("document.documentElement.style.scrollBehavior = 'auto'; document.querySelector('#heat').scrollIntoView({ "
             "block: 'center' })")
    box = page.run("(({ left, top, width, height }) => [left, top, width, "
                   "height])(document.querySelector('#heat').getBoundingClientRect())")
    page.move(box[0] + box[2] * .8, box[1] + 22 * 4 + 8)
    check("rank 4" in tip(page) and "others waited for it" in tip(page), f"hover over rank 4: {tip(page)}")
    page.move(box[0] + box[2] * .8, box[1] + 8)
    check("rank 0" in tip(page) and "never ended" in tip(page), f"hover over rank 0: {tip(page)}")
    page.move(5, 5)
    check(tip(page) == "", "and away")
    page.run("document.querySelector('#heat').focus()")
    page.key("ArrowRight")
    check("rank 4" in tip(page), f"the arrow keys begin with rank 4: {tip(page)}")
    page.key("ArrowUp")
    check("rank 3" in tip(page), f"and go up: {tip(page)}")
    page.key("Escape")
    check(tip(page) == "", "and Escape ends it")
    page.run("document.querySelector('#timeline').focus()")
    page.key("ArrowDown")
    first = tip(page)
    page.key("ArrowRight")
    check(" · " in first and tip(page) not in ("", first), f"the event's operations, too: {first} → {tip(page)}")
    before = page.run("view.until - view.from")
    page.key("+")
    check(page.run("view.until - view.from") < before, "+ goes nearer")
    page.key("0")
    check(page.run("view.until - view.from") == before, "0 shows all again")
    page.run("document.activeElement.blur(); scrollTo(0, 0)")
    page.key("j")
    check(page.run("Math.abs(document.querySelector('#story').getBoundingClientRect().top) < 80"),
          "j goes to the next part")
    page.key("?")
    check(page.run("document.querySelector('#help').open"), "? shows the keys")
    check(not page.problems, f"complaints: {page.problems}")


def check_themes(page, path):
    grounds = []
    for dark in (False, True):
        show(page, path, dark=dark)
        check(page.run("document.documentElement.dataset.theme") == ("dark" if dark else "light"),
              "the theme is the reader's")
        grounds.append(page.run("getComputedStyle(document.body).backgroundColor"))
    check(grounds[0] != grounds[1], f"grounds {grounds}")
    page.key("t")
    check(page.run("getComputedStyle(document.body).backgroundColor") == grounds[0], "t changes it")
    page.call("Emulation.setEmulatedMedia", media="print")
    check(page.run("getComputedStyle(document.querySelector('.bar')).display") == "none", "controls are not printed")
    page.call("Emulation.setEmulatedMedia", media="")
    wide = "document.querySelector('#ranks canvas').clientWidth"
    before = page.run(wide)
    page.run("dispatchEvent(new Event('beforeprint'))")
    check(page.run(f"{wide} <= 700 && document.querySelector('#ranks canvas').width <= 1400 && "
                   "document.documentElement.dataset.theme === 'light'"),
          f"what is printed is drawn for paper: {page.run(wide)}")
    page.run("dispatchEvent(new Event('afterprint'))")
    check(page.run(wide) == before, "and then again for the screen")
    page.run("document.documentElement.dataset.theme = 'dark'; dispatchEvent(new Event('beforeprint'))")
    check(page.run("document.documentElement.dataset.theme === 'light' && "
                   "document.querySelector('#foot details').open"), "paper is white and has what the page stands on")
    page.run("dispatchEvent(new Event('afterprint'))")
    check(page.run("document.documentElement.dataset.theme === 'dark' && "
                   "!document.querySelector('#foot details').open"), "behind it all is as before")


def check_without_finding(page, directory):
    """What names no rank is not said to be well where it is not."""
    for name, said in (("healthy", "No rank stands out"), ("init-never", "A communicator was never made"),
                       ("fabric-stall", "No rank is missing")):
        (directory / name).mkdir()
        path = make(trace.boxes_of(name, directory / name), directory, name)
        show(page, path)
        facts = page.run("[...document.querySelectorAll('.facts dt')].map(one => one.textContent).join()")
        check("late by" not in facts, f"{name}: nobody is late where nobody is named: {facts}")
        check(page.run("document.querySelector('h1').textContent") == said,
              f"{name}: {page.run('document.querySelector(`#verdict`).textContent')}")
        if name == "healthy":
            lost = "{ rank: 3, share: 0.75, not_named: 'it was late in 1 of 9 steps' }"
            said = page.run(f"(D.job.account.waited_for = [{lost}], calmText()).join(': ')")
            check(said == "No rank is named: The others waited 75 % of the time for rank 3. It is not named: it was "
                          "late in 1 of 9 steps.", f"why who was waited for is not named: {said}")


HEADLINES = (
    ("hang", "job", [], "together", "ranks 0-7 have reached AllGather #65 on ~fsdp and it has not finished after 10.1 "
                                    "s: no rank is missing", "No rank is missing"),
    ("hang", "job", [], "circle", "ranks 0,1 wait for each other: rank 0 in AllGather #3 on a for rank 1, rank 1 in "
                                  "AllGather #4 on b for rank 0; for 5.00 s", "Ranks wait for each other"),
    ("hang", "job", [], "a word of later", "ranks 0,1 do something", "Hang"),
    ("straggler", "host", [4, 5], None, "host a (ranks 4,5) makes every step 74 ms longer", "Host a"),
    ("straggler", "host", [], None, "host gpu-a.b3 makes every step 74 ms longer", "Host gpu-a.b3"),
    ("gone", "host", [0, 1], None, "host node-0 (ranks 0,1) fell silent: ranks 2,3 wait for it", "Host node-0"),
    ("hang", "rank", [4], None, "rank 4 (host a, pid 1) has not joined AllGather #3", "Rank 4"),
    ("slowdown", "job", list(range(8)), None,
     "transfers on ~fsdp take 356 ms a step instead of 103 ms, since step 8; no rank is late", "Slowdown"),
)


def check_headlines(page, path):
    """Who is named in large letters, where it is a host, or nobody."""
    show(page, path)
    for kind, scope, ranks, standing, text, said in HEADLINES:
        finding = json.dumps({"kind": kind, "scope": scope, "ranks": ranks, "standing": standing, "text": text})
        found = page.run(f"headline({finding})[0]")
        check(found == said, f"{said}: {found}")
        more = "{ evidence: [{ source: 'x', ms: null, what: 'y' }], where: [] }"
        shown = page.run(f"evidenceOf(Object.assign({finding}, {more})).textContent")
        check([words in shown
               for words in ("no rank named", "none named", "ranks ")] == ([not ranks] * 2 + [len(ranks) > 1]),
              f"its evidence: {shown}")
    said = page.run("[[null], [null, null, 0, 1, 2], [3]].map(ranksText)")
    check(said == ["1 process without a rank", "ranks 0-2 and 2 processes without a rank", "rank 3"],
          f"processes whose rank is not known: {said}")


def check_markup(page, path):
    text = path.read_text(encoding="utf-8")
    check(text.count("</script") == 2 and "\u2028" not in text and "\u202e" not in text,
          "names of the job end no script and no line")
    show(page, path)
    check(page.run("typeof window.evil") == "undefined", "nor do they run")
    check("</script><script>window.evil=1</script>" in page.run("document.querySelector('#job').textContent"),
          "they are text")
    check("\\xe2\\x80\\xa8" in page.run("document.querySelector('#job').textContent"), "with what hides escaped")
    page.run("document.body.append("
             "Object.assign(document.createElement('script'), { textContent: 'window.evil = 1' }))")
    check(page.run("typeof window.evil") == "undefined" and page.problems,
          "and what is not the page's own is refused by its policy")


def check_large(page, path):
    size = path.stat().st_size
    check(size < 10e6, f"256 ranks: {size / 1e6:.1f} MB")
    show(page, path)
    check(page.run("document.querySelector('h1').textContent") == "Rank 142", "the late rank is named")
    check(page.run("document.querySelector('#heat').getBoundingClientRect().height < 900"),
          "all of its ranks fit on a screen")
    page.run("[...document.querySelectorAll('#end details')].forEach(one => { one.open = true; })")
    check(page.run("new Promise(done => setTimeout(() => done(document.querySelectorAll('#end tbody tr').length), "
                   "50))") == 256, "a row for each when they are asked for")
    check(page.run("document.querySelector('#unlike table').textContent.includes('eth0')"),
          "a host with another environment is told")


def check_story_shows(page, path, other):
    show(page, path)
    check(page.run("document.querySelector('h1').textContent") == "Rank 4", "pauses of all ranks hide no late one")
    story = page.run("document.querySelector('#story .shown').textContent")
    check("steps 241, 481, 721 (every 240)" in story and LONG in story,
          f"and stand in the story, as what they are: {story}")
    show(page, other)
    check(page.run("document.querySelector('#story .shown') === null"),
          "where there is nothing of the kind nothing is said")


def main():
    with tempfile.TemporaryDirectory() as one:
        directory = pathlib.Path(one)
        boxes, pages = {}, {}
        for name in NAMES:
            (directory / name).mkdir()
            boxes[name] = trace.boxes_of(name, directory / name)
            pages[name] = make(boxes[name], directory, name)
            check_text(name, boxes[name])
            check_story(name, *check_data(name, boxes[name], pages[name]))
        check_shown("never", boxes["never"], pages["never"], [])
        check_shown("nan-mesh", boxes["nan-mesh"], pages["nan-mesh"], ["loss"])
        pages["nan-twice"] = made_twice(directory)
        paused = with_pauses(directory)
        pages["pauses"] = make(paused, directory, "pauses")
        check_shown("pauses", paused, pages["pauses"], ["long"])
        check_command(directory, boxes["never"])
        check_damaged(boxes["nan-mesh"], directory)
        pages["markup"] = make(renamed(boxes["never"], directory), directory, "markup")
        of_many = large(directory)
        pages["large"] = make(of_many, directory, "large")
        check_interrupted(of_many, directory)
        check_progress(of_many, directory)
        if not browser.find():
            print("skipped: no chromium here: pages were made and not looked at", flush=True)
            sys.exit(1 if recorded.failed else 77)
        with browser.Browser() as page:
            for name in NAMES:
                check_first_screen(page, name, pages[name])
            check_without_finding(page, directory)
            check_hover_and_keys(page, pages["never"])
            check_phone(page, pages["nan-mesh"])
            check_phone(page, pages["never"])
            check_themes(page, pages["never"])
            check_headlines(page, pages["never"])
            check_markup(page, pages["markup"])
            check_large(page, pages["large"])
            check_story_shows(page, pages["pauses"], pages["never"])
            check_twice_shows(page, pages["nan-twice"])
    finish()


if __name__ == "__main__":
    main()
