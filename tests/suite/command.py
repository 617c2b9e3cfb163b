#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch suite` as a user types it: help, exit statuses, JSON, one job played again, and Ctrl-C. command.py
RANKWATCH"""
import json
import os
import pty
import signal
import subprocess
import sys

RANKWATCH = sys.argv[1]
failures = 0


def check(right, what):
    global failures
    failures += not right
    print(("ok: " if right else "FAILED: ") + what, flush=True)


def suite(*arguments):
    return subprocess.run([RANKWATCH, "suite", *arguments], capture_output=True, text=True)


def jobs_and_sums(text):
    lines = [json.loads(line) for line in text.splitlines()]
    return lines[:-1], lines[-1].get("summary", {})


def check_help():
    done = suite("--help")
    check(done.returncode == 0 and "SEED" in done.stdout and "--first" in done.stdout, "--help says what there is")
    overview = subprocess.run([RANKWATCH, "--help"], capture_output=True, text=True).stdout
    check(any(line.split()[:1] == ["suite"] for line in overview.splitlines()), "the overview lists it")


def check_misuse():
    for arguments, reason in [
        (["--jobs", "0"], 'is no number from 1 to'),
        (["--ranks", "4"], 'is no number from 8 to 1024'),
        (["--first", "-1"], 'is no number from 0 to'),
        (["--fault", "slow"], '"creep"'),
        (["--shape", "ring"], '"FSDP"'),
        (["many"], 'SEED: "many" is no number'),
        (["4", "--jobs", "3"], "choose jobs, and so does SEED"),
        (["--draws", "3"], "there is no option"),
    ]:
        done = suite(*arguments)
        check(done.returncode == 2 and reason in done.stderr and not done.stdout,
              f"{' '.join(arguments)}: {done.stderr.strip()}")


def check_tables():
    text, other = suite("--jobs", "6"), suite("--jobs", "6", "--json")
    jobs, sums = jobs_and_sums(other.stdout)
    check(len(jobs) == sums["jobs"] == 6 and not sums["interrupted"], "one object for each job, and one with the sums")
    check([job["job"] for job in jobs] == list(range(6)), "the numbers begin at 0")
    check(sum(job["fault"] == "healthy" for job in jobs) == 2, "one of three is healthy")
    row = next(line.split() for line in text.stdout.splitlines() if line.startswith("all "))
    verdicts = ["right", "right rank, wrong cause", "partly", "inconclusive", "missed", "wrong", "false"]
    counted = [sum(job["verdict"] == verdict for job in jobs) for verdict in verdicts]
    check(list(map(int, row[1:])) == [6] + counted, f"the table counts them: {row}")
    for verdict in verdicts:
        of_faults = sum(fault["verdicts"][verdict] for fault in sums["faults"])
        check(of_faults == counted[verdicts.index(verdict)], f"so do the sums: {verdict}")
    again = suite("--first", "4", "--jobs", "2", "--json").stdout.splitlines()
    check(again[:2] == other.stdout.splitlines()[4:6], "the same number is the same job")


def check_choice():
    jobs, _ = jobs_and_sums(suite("--fault", "creep", "--shape", "pipeline", "--jobs", "2", "--json").stdout)
    check(len(jobs) == 2 and all(job["fault"] == "creep" and job["shape"] == "pipeline" for job in jobs),
          "jobs of one fault and shape")
    jobs, _ = jobs_and_sums(suite("--ranks", "8", "--jobs", "3", "--json").stdout)
    check(len(jobs) == 3 and all(job["ranks"] == 8 for job in jobs), "jobs of few ranks")
    check(jobs[0]["again"] == "rankwatch suite --ranks 8 0", f"which are played again so: {jobs[0]['again']}")


def check_hosts():
    jobs, _ = jobs_and_sums(suite("--ranks", "8", "--per-host", "4", "--jobs", "2", "--json").stdout)
    check(len(jobs) == 2, "jobs over hosts")
    check(jobs[0]["again"] == "rankwatch suite --ranks 8 --per-host 4 0", f"are played again so: {jobs[0]['again']}")
    done = suite("--ranks", "8", "--per-host", "8", "--json")
    check(done.returncode == 1 and "no such job" in done.stderr, f"none that has room on one: {done.stderr.strip()}")
    done = suite("--per-host", "0")
    check(done.returncode == 2 and "--per-host" in done.stderr, f"a host has ranks: {done.stderr.splitlines()[:1]}")


# The status is 1 where a healthy rank is named: 431 once was such a job.
def check_statuses():
    done = suite("22", "431", "--json")
    jobs, _ = jobs_and_sums(done.stdout)
    wrong = any(job["verdict"] in ("wrong", "false") for job in jobs)
    check([job["job"] for job in jobs] == [22, 431], "jobs are chosen by their numbers")
    check(done.returncode == wrong, f"status {done.returncode}, somebody named wrongly: {wrong}")
    for job in jobs:
        told = suite(str(job["job"])).stdout
        check(f"{job['job']}: {job['verdict']}: {job['description']}" in told, f"what {job['job']} is")
        check(not job["reported"] or job["reported"] in told, "and what was reported")
        check("fault                    jobs" not in told, "without tables")
    found = next(job for job in jobs if job.get("steps"))
    check("        step " in suite(str(found["job"])).stdout, "each finding is printed with its step")


def check_none():
    done = suite("--fault", "call left out", "--shape", "TP", "--json")
    check(done.returncode == 1 and "no such job" in done.stderr,
          f"a fault that no job of a shape has: {done.stderr.strip()}")
    check(jobs_and_sums(done.stdout)[1]["jobs"] == 0, "nothing was played")


def check_interrupted():
    # Without a buffer: communicate() does not see what a buffer has taken beyond the lines that were read.
    play = subprocess.Popen([RANKWATCH, "suite", "--jobs", "1000000", "--json"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, bufsize=0)
    first = [play.stdout.readline() for _ in range(3)]
    play.send_signal(signal.SIGINT)
    rest, said = play.communicate()
    first, rest, said = [line.decode() for line in first], rest.decode(), said.decode()
    jobs, sums = jobs_and_sums("".join(first) + rest)
    check(play.returncode == 128 + signal.SIGINT, f"status {play.returncode} after Ctrl-C")
    check(sums["interrupted"] and sums["jobs"] == len(jobs) >= 3, f"the sums are those of {len(jobs)} jobs")
    check(f"ended by signal 2 after {len(jobs)} jobs" in said, said.strip())


def check_terminal():
    """How far it is goes to a terminal at standard error; Ctrl-C prints the tables."""
    mine, terminal = pty.openpty()
    play = subprocess.Popen([RANKWATCH, "suite", "--jobs", "1000000"], stdout=subprocess.PIPE, stderr=terminal,
                            text=True)
    os.close(terminal)
    shown = b""
    while b"playing 1000000 jobs: " not in shown:
        shown += os.read(mine, 4096)
    play.send_signal(signal.SIGINT)
    printed, _ = play.communicate()
    os.close(mine)
    rows = [line.split() for line in printed.splitlines() if line.startswith("all ")]
    check(len(rows) >= 1 and int(rows[0][1]) > 0, f"the table of what was played: {rows[:1]}")
    check(play.returncode == 130, f"status {play.returncode}")


check_help()
check_misuse()
check_tables()
check_choice()
check_hosts()
check_statuses()
check_none()
check_interrupted()
check_terminal()
sys.exit(failures > 0)
