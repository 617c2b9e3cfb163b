#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""beside.py THIS [OTHER]: two versions in one job. THIS and OTHER are folders where each was built; without OTHER the
newest release is built in build-last, from the commit that kept its boxes. The plugin of one is watched by the
collector of the other, and its boxes are read by the other's commands; a collector of one has its eBPF from the other's
rankwatchd; hosts of both versions publish to one server, and the judge of either names the missing rank of either. What
needs root is left out aloud without it."""
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
THIS = pathlib.Path(sys.argv[1]).resolve()
LAST = SOURCE / "build-last"
BUILDS = {"this": THIS, "other": pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else LAST / "build"}
os.environ.setdefault("TEST_SIM_DIR", str(THIS / "sim"))
os.environ.setdefault("TEST_WORKLOAD_DIR", str(THIS / "sim/workload"))
os.environ.setdefault("TEST_SCENARIOS", str(THIS / "tests/integration/scenarios"))
sys.path.insert(0, str(SOURCE / "tests/integration"))

import nodes  # noqa: E402
import stage  # noqa: E402

PLUGIN = "plugin/libnccl-profiler-rankwatch.so"
LATE = 2
FAULT = ("--fault=lock", "--fault-ms=600", f"--fault-rank={LATE}", "--fault-step=8")
BOTH_WAYS = (("this", "other"), ("other", "this"))


def build_last():
    """The newest release, where git still has it."""
    newest = max(path.parent for path in HERE.glob("*/expected.json"))
    commit = subprocess.run(["git", "-C", SOURCE, "log", "--diff-filter=A", "--format=%H", "-1", "--",
                             newest / "expected.json"], capture_output=True,
                            text=True, check=False).stdout.strip()
    if not commit:
        stage.skip(f"the history of {newest.name} is not here")
    if not LAST.exists():
        subprocess.run(["git", "clone", "--quiet", "--shared", "--no-checkout", SOURCE, LAST], check=True)
    subprocess.run(["git", "-C", LAST, "checkout", "--quiet", commit], check=True)
    if not (LAST / "build/build.ninja").exists():
        subprocess.run(["meson", "setup", "-Dtests=disabled", "-Dsim=disabled", "build"], cwd=LAST, check=True,
                       stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "--quiet", "-C", LAST / "build"], check=True)
    print(f"beside release {newest.name} ({commit[:8]})", flush=True)


def command(version):
    return BUILDS[version] / "console/rankwatch"


def plugin_of(version):
    """As `rankwatch run` sets it: the interposer, too."""
    library = BUILDS[version] / PLUGIN
    return {"NCCL_PROFILER_PLUGIN": str(library), "LD_PRELOAD": str(library), "LD_LIBRARY_PATH": stage.SIM_DIR}


def named(process):
    return [value for _, value in process.out.json() if value.get("kind") == "straggler"
            and value.get("ranks") == [LATE]]


def accused(process):
    return {tuple(value["ranks"]) for _, value in process.out.json() if value.get("ranks")}


def check(failures, right, what, *processes):
    """Where it is wrong, with what these have said."""
    failures.check(right, what)
    if not right:
        print(*(process.out.text_now() + process.err.text_now() for process in processes), sep="\n---\n", flush=True)


def end(failures, process, what):
    process.popen.terminate()
    check(failures, process.wait(30) == 0, f"{what} ends in order", process)


def one_host(failures, of_command, of_plugin):
    """The late rank of a job is named live, with its cause, and by all that reads its boxes or asks the collector."""
    what = f"command of {of_command}, plugin of {of_plugin}"
    with stage.Stage() as play:
        collector = play.start(command(of_command), "collect", "--findings", "-", "--keep-boxes", "all")
        job = play.start(*stage.workload("--ranks=4", "--steps=40", "--step-ms=100", *FAULT), **plugin_of(of_plugin))
        check(failures, stage.wait_until(lambda: named(collector), 60), f"{what}: the late rank is named live",
              collector, job)
        for asked in (("top", "--once"), ("findings",), ("metrics", "--once")):
            # Of the other version: it asks a collector that it did not come with.
            reader = play.start(command(of_plugin), *asked)
            check(failures, reader.wait(30) == 0 and "straggler" in reader.out.text().lower(),
                  f"{what}: and by {' '.join(asked)} of {of_plugin}", reader)
        check(failures, job.wait(60) == 0, f"{what}: the job ends as ever", job)
        end(failures, collector, what)
        failures.check(accused(collector) == {(LATE,)}, f"{what}: nobody else is named: {accused(collector)}")
        report = play.start(command(of_command), "report", "--json", play.boxes)
        check(failures, report.wait(60) == 0 and named(report), f"{what}: report of its boxes", report)


def with_helper(failures, of_command, of_helper):
    helper = stage.Helper(BUILDS[of_helper] / "helper/rankwatchd")
    said = helper.start()
    what = f"command of {of_command}, rankwatchd of {of_helper}"
    try:
        if "eBPF programs loaded" not in said:
            print(f"left out: {what}: {said}", flush=True)
            return
        with stage.Stage() as play:
            stage.give(play, 1000)
            doctor = stage.run_as(1000, play, command(of_command), "doctor", "--json")
            doctor.wait(30)
            check(failures, "through rankwatchd" in doctor.out.text(), f"{what}: doctor sees it", doctor)
            collector = stage.run_as(1000, play, command(of_command), "collect", "--findings", "-")
            job = stage.run_as(1000, play, *stage.workload("--ranks=4", "--steps=40", "--step-ms=100", *FAULT),
                               **plugin_of(of_command))
            job.wait(90)
            end(failures, collector, what)
            check(failures, {value["level"] for value in named(collector)} == {"ebpf"},
                  f"{what}: the late rank is named at level ebpf", collector)
    finally:
        helper.stop()


def over_hosts(failures, of_judge, missing_on):
    """host-0 is of this version, host-1 of the other one."""
    hosts = {"this": 0, "other": 1}
    what = f"over hosts, judge of {of_judge}, missing rank on the host of {missing_on}"
    rank = hosts[missing_on] * 2 + 1
    with stage.Stage() as play:
        server = nodes.Server(play.dir)
        judge = play.start(command(of_judge), "collect", "--all-nodes", "--nats", server.url(), "--findings", "-")
        for version, host in hosts.items():
            directory = play.boxes / f"host-{host}"
            directory.mkdir(mode=0o700)
            play.start(command(version), "collect", "--host", f"host-{host}", "--dir", directory,
                       RANKWATCH_NATS=server.url(), RANKWATCH_DIR=None)
        check(failures, stage.wait_until(lambda: nodes.said(judge, "hears 2 hosts"), 60),
              f"{what}: both hosts are heard", judge)
        play.start(*stage.workload("--ranks=4", "--hosts=2", f"--box-dirs={play.boxes}", "--steps=1000000",
                                   "--step-ms=80", "--limit=120", "--fault=never",
                                   f"--fault-rank={rank}", "--fault-step=30"), **plugin_of("this"))
        check(failures, stage.wait_until(lambda: nodes.findings(judge, kind="hang", ranks=[rank]), 90),
              f"{what}: the missing rank is named", judge)
        failures.check(accused(judge) <= {(rank,)}, f"{what}: and nobody else: {accused(judge)}")
        refused = [line for _, line in judge.err.lines if "another version" in line]
        failures.check(not refused, f"{what}: nothing is refused: {refused}")
        server.kill()


def main():
    if stage.ROOT:
        stage.need_mount_namespace()
        stage.in_own_run_directory()
    if len(sys.argv) == 2:
        build_last()
    failures = stage.Failures()
    for pair in BOTH_WAYS:
        one_host(failures, *pair)
    if stage.ROOT:
        for pair in BOTH_WAYS:
            with_helper(failures, *pair)
    else:
        print("left out: rankwatchd, which only root can start by hand", flush=True)
    for of_judge in BUILDS:
        for missing_on in BUILDS:
            over_hosts(failures, of_judge, missing_on)
    failures.end()


if __name__ == "__main__":
    main()
