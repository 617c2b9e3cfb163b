#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs under rankwatch where its places are small, full, closed, taken or filled with lies: every job ends with the
result it has without rankwatch, and a line says what happened. hostile.py [CASE]: all cases, or one."""

import os
import re
import struct
import sys

import stage

WORKLOAD = ("--ranks=8", "--steps=20", "--step-ms=60", "--elements=1024")
# The rank's start line, the collector when it looks, the launcher at the end.
NO_PLACE = (r"does not outlive", r"collect: no place for black boxes: .*set RANKWATCH_DIR.*\(/dev/shm",
            r"no communicator seen\. There was no place for black boxes: .*\n.*Set RANKWATCH_DIR.*\(/dev/shm")
MISLEADING = r"no place for the lock|Likely reasons|no collector answers"


def mounted(script):
    """Runs what follows where /dev/shm is as the shell script makes it, in a mount namespace of its own."""
    return ["unshare", "--mount", "--propagation", "private", "bash", "-ec", script + '; exec "$0" "$@"']


SHM_CASES = {
    "shm-16m": ("mount -t tmpfs -o size=16m tmpfs /dev/shm",
                (r"recording to /dev/shm/.*for lack of space", r"8 of 8 ranks")),
    "shm-full": ("mount -t tmpfs -o size=1m tmpfs /dev/shm; head -c 2M /dev/zero > /dev/shm/full 2>/dev/null || :",
                 NO_PLACE),
    "shm-read-only": ("mount -t tmpfs -o ro tmpfs /dev/shm", NO_PLACE),
    "shm-missing": ("devices=$(mktemp -d); mount -t tmpfs tmpfs $devices; for name in null zero full random urandom; "
                    "do touch $devices/$name; "
                    "mount --bind /dev/$name $devices/$name; done; ln -s /proc/self/fd $devices/fd; mount --rbind "
                    "$devices /dev; umount -R $devices; rmdir $devices", NO_PLACE),
    "shm-squatted": ("mount -t tmpfs tmpfs /dev/shm; mkdir -m 777 /dev/shm/rankwatch-0; chown nobody "
                     "/dev/shm/rankwatch-0",
                     NO_PLACE),
    "shm-squatted-by-link": ("mount -t tmpfs tmpfs /dev/shm; mkdir /dev/shm/there; ln -s there /dev/shm/rankwatch-0",
                             NO_PLACE),
}


def shm_case(name):
    def play_case(play):
        if not stage.ROOT:
            print(f"skipped: {name}: mounting needs root")
            return None, ()
        script, lines = SHM_CASES[name]
        return run_job(play, prefix=mounted(script), RANKWATCH_DIR=None), lines
    return play_case


def run_job(play, prefix=(), **environment):
    return play.start(*prefix, stage.RANKWATCH, "run", "--keep-boxes", "all", "--", *stage.workload(*WORKLOAD),
                      **environment)


WRONG = {
    "RANKWATCH_HISTROY": "5", "RANKWATCH_TIMEOUT": "soon", "RANKWATCH_MESH": "fsdp=banana,=,", "RANKWATCH_RANK": "-7",
    "RANKWATCH_GPU_TIME": "perhaps", "RANKWATCH_BUDGET": "-1e99", "RANKWATCH_DIR": "/proc/self/nowhere",
    "RANKWATCH_JOB": "../../etc/\x1b[31m" + "x" * 300,
}


def wrong_variables(play):
    lines = (r"RANKWATCH_HISTROY.*RANKWATCH_HISTORY", r'RANKWATCH_MESH=.*"fsdp=banana" is no NAME=SIZE',
             r"8 of 8 ranks")
    if not stage.ROOT:
        return run_job(play, **{**WRONG, "RANKWATCH_DIR": str(play.boxes)}), lines
    return run_job(play, prefix=mounted("mount -t tmpfs tmpfs /dev/shm"), **WRONG), lines


def foreign_files(play):
    for name in ("notes.txt", "rank0-1.rwbox.bak", ".rwbox", "collector.lock.old"):
        (play.boxes / name).write_text("not ours\n")
    (play.boxes / "a directory").mkdir()
    os.mkfifo(play.boxes / "pipe")
    return run_job(play), (r"8 of 8 ranks",)


def read_only_home(play):
    """Nothing is written there, and nothing is said of it."""
    if not stage.ROOT:
        print("skipped: home-read-only: mounting needs root")
        return None, ()
    home = play.dir / "home"
    home.mkdir()
    return run_job(play, prefix=mounted(f"mount -t tmpfs -o ro tmpfs {home}"), HOME=str(home),
                   CUDA_CACHE_DISABLE="1"), (r"8 of 8 ranks", rf"(?s)\A(?!.*(?:{home}|Read-only))")


# Offset in the header (include/rankwatch/blackbox.h), format, value.
LIES = {
    "layout": (8, "<I", 99), "header-size": (12, "<I", 0xFFFFFFFF), "required": (16, "<Q", 1 << 63),
    "total-size": (32, "<Q", 1 << 62), "comms-offset": (48, "<Q", (1 << 64) - 64),
    "ring-offset": (72, "<Q", (1 << 64) - 256),
    "comm-slots": (80, "<I", 0xFFFFFFFF), "ring-slots": (88, "<I", 0xFFFFFFFF), "ring-slots-odd": (88, "<I", 3),
    "operation-size": (92, "<I", 1), "head": (6400, "<Q", (1 << 64) - 1), "pid": (136, "<I", 1),
}


def write_lies(play, honest):
    for number, (name, (offset, form, value)) in enumerate(LIES.items()):
        box = bytearray(honest)
        struct.pack_into(form, box, offset, value)
        (play.boxes / f"rank{number}-9{name}.rwbox").write_bytes(box)
    noise = bytearray(honest)
    noise[8192:] = os.urandom(1 << 20) * ((len(noise) - 8192) >> 20) + os.urandom((len(noise) - 8192) & 0xFFFFF)
    (play.boxes / "rank3-91.rwbox").write_bytes(noise)
    (play.boxes / "rank4-92.rwbox").write_bytes(honest[:8000])
    (play.boxes / "rank5-93.rwbox").write_bytes(b"")
    (play.boxes / "rank6-94.rwbox").write_bytes(os.urandom(1 << 16))
    os.mkfifo(play.boxes / "rank7-95.rwbox")
    (play.boxes / "rank8-96.rwbox").mkdir()
    (play.boxes / "rank9-97.rwbox").symlink_to("/dev/zero")


def hostile_boxes(play):
    first = run_job(play, RANKWATCH_HISTORY="1M")
    first.wait(120)
    boxes = list(play.boxes.rglob("*.rwbox"))
    if not boxes:
        return first, (r"a box to copy",)
    honest = boxes[0].read_bytes()
    for box in boxes:
        box.unlink()
    write_lies(play, honest)
    return run_job(play), (r"8 of 8 ranks",)


def report_refuses(failures, play):
    """The report on a directory of lies ends by itself and names what it did not read."""
    report = play.start(stage.RANKWATCH, "report", play.boxes)
    status = report.wait(120)
    said = report.err.text()
    failures.check(status in (0, 1, 3), f"report on hostile boxes ends with status {status}")
    for name in ("layout", "ring-offset", "rank4-92", "rank6-94"):
        failures.check(re.search(rf"{name}.*not read", said), f"report says that it did not read {name}")
    failures.check("\x1b" not in said + report.out.text(), "no control characters on the terminal")


CASES = {name: shm_case(name) for name in SHM_CASES}
CASES |= {"wrong-variables": wrong_variables, "foreign-files": foreign_files, "home-read-only": read_only_home,
          "hostile-boxes": hostile_boxes}


def check_case(failures, name, expected):
    with stage.Stage() as play:
        job, lines = CASES[name](play)
        if job is None:
            return
        status = job.wait(120)
        result, said = stage.job_result(job), job.err.text()
        failures.check(status == 0, f"{name}: the job's status {status}")
        failures.check(result and result["checksum"] == expected, f"{name}: the job's result is the same")
        for line in lines:
            failures.check(re.search(line, said), f"{name}: a line says so: {line}")
        failures.check(not re.search(MISLEADING, said), f"{name}: no line misleads")
        if name == "hostile-boxes":
            report_refuses(failures, play)
        print("    " + said.replace("\n", "\n    "))


def main(names):
    failures = stage.Failures()
    with stage.Stage() as play:
        alone = play.start(*stage.workload(*WORKLOAD))
        alone.wait(120)
        expected = (stage.job_result(alone) or {}).get("checksum")
    if failures.check(expected, "the job alone"):
        for name in names or CASES:
            check_case(failures, name, expected)
    failures.end()


if __name__ == "__main__":
    stage.need_mount_namespace()
    main(sys.argv[1:])
