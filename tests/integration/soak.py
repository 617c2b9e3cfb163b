#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What rankwatch's processes hold while a job goes on and on: memory, descriptors, threads, CPU time. A job of eight
ranks under `rankwatch run`, one of which is late by a second now and then, while clients ask its collector and the
GPUs' temperatures change. Fails if the second half holds more than the first did. soak.py [--helper RANKWATCHD]
[MINUTES [FILE [STEP_MS]]]: with a helper the job is an ordinary user's; FILE.csv gets what was seen, FILE.svg a drawing
of it (docs/reliability.md)."""

import argparse
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import stage

USER = 61001  # a uid; no account is made
EVERY_S = 10
ASK_S = 60  # a client asks the collector, and goes
WARM_UP = 0.1  # of the time: tables grow to what the job needs
GROWTH, GROWTH_KIB, GROWTH_COUNT = 1.05, 1024, 1
STEP_MS = 300
JOB = ("--ranks=8", "--steps=1000000", "--elements=4096", "--host-waits=block", "--fault=lock", "--fault-rank=3",
       "--fault-step=50", "--fault-every=40")
COLUMNS = ("rss_kib", "descriptors", "threads", "cpu_s")
TITLES = {"rss_kib": "resident memory, MiB", "descriptors": "open descriptors", "threads": "threads",
          "cpu_s": "CPU, % of a core"}
COLOURS = {"collector": "#1f6feb", "run": "#2da44e", "helper": "#bf8700", "a rank": "#8250df"}
TICKS = 100  # of CPU time a second: USER_HZ


def held_by(pid):
    """What one process holds; None when it has ended. Memory without what is shared with others: a box is its
    writer's."""
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


def watched(play, helper):
    """Who is watched, by name: rankwatch's own processes, and one rank, in which the plugin is a guest."""
    names = {"collector": play.pids("collect"), "run": play.pids("run"), "helper": [helper.popen.pid] if helper else []}
    names["a rank"] = [play.rank_pids()[0]] if 0 in play.rank_pids() else []
    return {name: pids[0] for name, pids in names.items() if pids}


def ask(play, prefix):
    for command in (["top", "--once"], ["metrics", "--once"]):
        subprocess.run([*prefix, stage.RANKWATCH, *command], env=play.environment(), capture_output=True, timeout=60,
                       check=True)


def warm(nvml, minute):
    """GPUs of a job are not always as warm: nothing that limits them, and NVML has something new to say."""
    nvml.write_text(f"all temperature={45 + minute % 30} power={300 + minute % 50}\n")


def watch(play, pids, nvml, prefix, seconds, file):
    """[(second, {name: what it held})], until the time is over or the job is; each minute what there is so far is in
    the file."""
    rows, begun, asked = [], time.monotonic(), 0
    while (now := time.monotonic() - begun) < seconds:
        held = {name: held_by(pid) for name, pid in pids.items()}
        if None in held.values():
            return rows, [name for name, value in held.items() if value is None]
        rows.append((now, held))
        if now - asked >= ASK_S:
            warm(nvml, int(now / 60))
            ask(play, prefix)
            write(file, rows)
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
            failures.check(after <= before + slack,
                           f"{name}: {column} {before} in the first half, {after} in the second")


def rates(rows, name):
    """CPU time of each minute as a share of it."""
    step = max(1, 60 // EVERY_S)
    return [(rows[i][0],
             100 * (rows[i][1][name]["cpu_s"] - rows[i - step][1][name]["cpu_s"]) / (rows[i][0] - rows[i - step][0]))
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
    for name, curve in sorted(curves.items(),
                              key=lambda item: -statistics.fmean(value for _, value in item[1] or [(0, 0)])):
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
            'font-family="sans-serif" font-size="12" fill="#57606a"><rect width="100%" height="100%" '
            'fill="#ffffff"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def table(rows):
    lines = ["second,process," + ",".join(COLUMNS)]
    for at, held in rows:
        lines += [f"{at:.0f},{name}," + ",".join(str(values[column]) for column in COLUMNS) for name,
                  values in held.items()]
    return "\n".join(lines) + "\n"


def write(file, rows):
    if file:
        pathlib.Path(file + ".csv").write_text(table(rows))
        pathlib.Path(file + ".svg").write_text(draw(rows))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--helper", metavar="RANKWATCHD")
    parser.add_argument("minutes", type=float, nargs="?", default=60)
    parser.add_argument("file", nargs="?")
    parser.add_argument("step_ms", type=int, nargs="?", default=STEP_MS)
    return parser.parse_args()


def helper_of(program):
    """A rankwatchd that can watch; None where there is none, which is said."""
    if not program or not stage.ROOT:
        print("without a helper: " + ("only root can start one" if program else "none was given"))
        return None
    stage.need_mount_namespace()
    if subprocess.run([*stage.as_uid(USER), "test", "-x", stage.RANKWATCH]).returncode:
        print(f"without a helper: another user may not reach {stage.RANKWATCH}")
        return None
    stage.in_own_run_directory()
    helper = stage.Helper(program)
    print(helper.start(), flush=True)
    if "nothing can be watched" in helper.first:
        helper.stop()
        return None
    return helper


def play_job(failures, play, helper, options):
    """What was seen of it."""
    prefix = stage.as_uid(USER) if helper else []
    nvml = play.dir / "nvml"
    warm(nvml, 0)
    if helper:
        stage.give(play, USER)
    job = play.start(*prefix, stage.RANKWATCH, "run", "--json", "--",
                     *stage.workload(*JOB, f"--step-ms={options.step_ms}"),
                     SIM_NVML=str(nvml))
    pids = stage.wait_until(lambda: len(play.events("start")) == 8 and "collector" in (names := watched(play, helper))
                            and names, 60,
                            step=0.2)
    if not failures.check(pids, "the job and its collector have begun"):
        failures.end()
    # Whoever asks in the first second is told what could be seen so far.
    said = stage.wait_until(lambda: [line for _, line in job.err.lines if " ranks" in line and "watching" in line], 60)
    print(said)
    failures.check(said and (not helper or "with eBPF (rankwatchd)" in said[0]), "watched with what is there")
    rows, ended = watch(play, pids, nvml, prefix, options.minutes * 60, options.file)
    failures.check(not ended, "all of them live to the end" + "".join(f"; ended: {name}" for name in ended))
    job.popen.send_signal(signal.SIGTERM)
    failures.check(job.wait(60) is not None, "the job ends when it is asked to")
    judge_findings(failures, [value for _, value in job.out.json() if value.get("state") == "open"])
    print(job.err.text())
    return rows


def judge_findings(failures, found):
    said = [(where["rank"], value) for value in found if value["severity"] != "notice" for where in value["where"]]
    others = [f"{value['time']} {value['text']}, {(value['cause'] or {}).get('text')}" for rank, value in said
              if rank != 3]
    failures.check({rank for rank, _ in said} == {3},
                   f"rank 3 is named, and nobody else{': ' if others else ''}{'; '.join(others)}")


def main():
    options = arguments()
    failures = stage.Failures()
    helper = helper_of(options.helper)
    try:
        with stage.Stage() as play:
            rows = play_job(failures, play, helper, options)
    finally:
        if helper:
            helper.stop()
    write(options.file, rows)
    judge(failures, rows)
    failures.end()


if __name__ == "__main__":
    main()
