#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rankwatch's processes hold while a job goes on and on: memory, descriptors, threads, CPU time. A job of eight ranks under
`rankwatch run`, one of which is late by a second now and then, while clients ask its collector. Fails if the second half holds more
than the first did. soak.py [MINUTES [FILE [STEP_MS]]]: FILE.csv gets what was seen, FILE.svg a drawing of it (docs/reliability.md)."""

import pathlib
import signal
import statistics
import subprocess
import sys
import time

import stage

EVERY_S = 10
ASK_S = 60  # a client asks the collector, and goes
WARM_UP = 0.1  # of the time: tables grow to what the job needs
GROWTH, GROWTH_KIB, GROWTH_COUNT = 1.05, 1024, 1
STEP_MS = 300
JOB = ("--ranks=8", "--steps=1000000", "--elements=4096", "--host-waits=block", "--fault=lock", "--fault-rank=3",
       "--fault-step=50", "--fault-every=40")
COLUMNS = ("rss_kib", "descriptors", "threads", "cpu_s")
TITLES = {"rss_kib": "resident memory, MiB", "descriptors": "open descriptors", "threads": "threads", "cpu_s": "CPU, % of a core"}
COLOURS = {"collector": "#1f6feb", "run": "#2da44e", "helper": "#bf8700", "a rank": "#8250df"}
TICKS = 100  # of CPU time a second: USER_HZ


def held_by(pid):
    """What one process holds; None when it has ended. Memory without what is shared with others: a box is its writer's."""
    process = pathlib.Path(f"/proc/{pid}")
    try:
        status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
        times = (process / "stat").read_text().rsplit(")", 1)[1].split()
        return {
            "rss_kib": int(status["VmRSS"].split()[0]) - int(status["RssShmem"].split()[0]),
            "descriptors": sum(1 for _ in (process / "fd").iterdir()),
            "threads": int(status["Threads"]),
            "cpu_s": (int(times[11]) + int(times[12])) / TICKS,
        }
    except (OSError, KeyError):
        return None


def watched(play):
    """Who is watched, by name: rankwatch's own processes, and one rank, in which the plugin is a guest."""
    names = {"collector": play.pids("collect"), "run": play.pids("run"), "helper": play.pids("rankwatchd")}
    names["a rank"] = [play.rank_pids()[0]] if 0 in play.rank_pids() else []
    return {name: pids[0] for name, pids in names.items() if pids}


def ask(play):
    subprocess.run([stage.RANKWATCH, "top", "--once"], env=play.environment(), capture_output=True, timeout=60)
    subprocess.run([stage.RANKWATCH, "metrics", "--once"], env=play.environment(), capture_output=True, timeout=60)


def watch(play, seconds):
    """[(second, {name: what it held})], until the time is over or the job is."""
    rows, begun, asked, pids = [], time.monotonic(), 0, watched(play)
    while (now := time.monotonic() - begun) < seconds:
        held = {name: held_by(pid) for name, pid in pids.items()}
        if None in held.values():
            return rows, [name for name, value in held.items() if value is None]
        rows.append((now, held))
        if now - asked >= ASK_S:
            ask(play)
            asked = now
        time.sleep(EVERY_S)
    return rows, []


def most(rows, name, column):
    return max(held[name][column] for _, held in rows)


def judge(failures, rows):
    warm = rows[int(len(rows) * WARM_UP):]
    first, second = warm[:len(warm) // 2], warm[len(warm) // 2:]
    for name in rows[0][1]:
        for column in ("rss_kib", "descriptors", "threads"):
            before, after = most(first, name, column), most(second, name, column)
            slack = max(before * (GROWTH - 1), GROWTH_KIB if column == "rss_kib" else GROWTH_COUNT)
            failures.check(after <= before + slack, f"{name}: {column} {before} in the first half, {after} in the second")


def rates(rows, name):
    """CPU time of each minute as a share of it."""
    step = max(1, 60 // EVERY_S)
    return [(rows[i][0], 100 * (rows[i][1][name]["cpu_s"] - rows[i - step][1][name]["cpu_s"]) / (rows[i][0] - rows[i - step][0]))
            for i in range(step, len(rows), step)]


def points(rows, name, column):
    if column == "cpu_s":
        return rates(rows, name)
    scale = 1024 if column == "rss_kib" else 1
    return [(at, held[name][column] / scale) for at, held in rows]


def panel(rows, column, top, width, height):
    """One diagram: a curve for each process, from 0."""
    curves = {name: points(rows, name, column) for name in rows[0][1]}
    highest = max((value for curve in curves.values() for _, value in curve), default=0) * 1.1 or 1
    longest = rows[-1][0] or 1
    left, right = 60, width - 150
    x = lambda at: left + (right - left) * at / longest
    y = lambda value: top + height - height * value / highest
    parts = [f'<text x="{left}" y="{top - 8}" font-weight="600">{TITLES[column]}</text>',
             f'<path d="M{left} {top}V{top + height}H{right}" fill="none" stroke="#8c959f"/>',
             f'<text x="{left - 6}" y="{y(highest) + 10:.0f}" text-anchor="end">{highest:.3g}</text>',
             f'<text x="{left - 6}" y="{top + height:.0f}" text-anchor="end">0</text>',
             f'<text x="{right}" y="{top + height + 16}" text-anchor="end">{longest / 60:.0f} min</text>']
    taken = []
    for name, curve in sorted(curves.items(), key=lambda item: -statistics.fmean(value for _, value in item[1] or [(0, 0)])):
        if not curve:
            continue
        path = "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in curve)
        label = y(curve[-1][1]) + 4
        while any(abs(label - other) < 14 for other in taken):
            label += 14
        taken.append(label)
        parts += [f'<path d="M{path}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.5"/>',
                  f'<text x="{right + 6}" y="{label:.0f}" fill="{COLOURS[name]}">{name} {curve[-1][1]:.3g}</text>']
    return parts


def draw(rows):
    width, height = 860, 110
    parts = []
    for i, column in enumerate(COLUMNS):
        parts += panel(rows, column, 40 + i * (height + 60), width, height)
    total = 40 + len(COLUMNS) * (height + 60)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {total}" width="{width}" height="{total}" '
            f'font-family="sans-serif" font-size="12" fill="#57606a"><rect width="100%" height="100%" fill="#ffffff"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def table(rows):
    lines = ["second,process," + ",".join(COLUMNS)]
    for at, held in rows:
        lines += [f"{at:.0f},{name}," + ",".join(str(values[column]) for column in COLUMNS) for name, values in held.items()]
    return "\n".join(lines) + "\n"


def main():
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    step_ms = int(sys.argv[3]) if len(sys.argv) > 3 else STEP_MS
    failures = stage.Failures()
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--json", "--", *stage.workload(*JOB, f"--step-ms={step_ms}"))
        begun = stage.wait_until(lambda: len(play.events("start")) == 8 and "collector" in watched(play), 60, step=0.2)
        if not failures.check(begun is not None, "the job and its collector have begun"):
            failures.end()
        rows, ended = watch(play, minutes * 60)
        failures.check(not ended, "all of them live to the end" + "".join(f"; ended: {name}" for name in ended))
        job.popen.send_signal(signal.SIGTERM)
        failures.check(job.wait(60) is not None, "the job ends when it is asked to")
        found = [value for _, value in job.out.json() if value.get("state") == "open"]
        said = [(where["rank"], value) for value in found if value["severity"] != "notice" for where in value["where"]]
        others = [f"{value['time']} {value['text']}, {(value['cause'] or {}).get('text')}" for rank, value in said if rank != 3]
        failures.check({rank for rank, _ in said} == {3}, f"rank 3 is named, and nobody else{': ' if others else ''}{'; '.join(others)}")
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2] + ".csv").write_text(table(rows))
        pathlib.Path(sys.argv[2] + ".svg").write_text(draw(rows))
    judge(failures, rows)
    failures.end()


if __name__ == "__main__":
    main()
