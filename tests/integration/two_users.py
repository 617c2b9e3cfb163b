#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One rankwatchd, two users: each sees its own processes and jobs only, and what either tries to see of others, to stop
or to slow down, fails aloud. Users are uids; no account is made. two_users.py RANKWATCHD HOST_STALLS
[beside|timed|CASE]…"""

import ctypes
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import traceback

import stage
from helper_peer import HELLO, LOOK, OTHER, SOCKET, UNWATCH, WATCH, Gone, Peer

ONE, OTHER_ONE = 61001, 61002
EPERM, ESRCH, ENOENT, EUSERS = -1, -3, -2, -87
KEPT = "CAP_BPF and CAP_PERFMON stay"  # in the helper's first line, before Linux 5.19
LIBC = ctypes.CDLL(None)
PYTHON = shutil.which("python3", path="/usr/bin:/bin") or sys.executable  # one that every user may run


def as_user(uid, function, *arguments):
    """What the function returns (JSON), run in a process of that user's; an exception is its text."""
    ends = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            LIBC.prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: lost with the uid, as in no program that begins as this user
            result = function(*arguments)
        except BaseException:  # noqa: whatever it is, the parent shows it
            result = {"raised": traceback.format_exc()}
        os.write(ends[1], json.dumps(result).encode())
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0], "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    result = json.loads(said or b'{"raised": "it died"}')
    if isinstance(result, dict) and "raised" in result:
        print(result["raised"])
    return result


class Victim:
    """A process of a user's that sleeps in short naps: /bin/sh, so an ordinary program."""

    def __init__(self, uid, script="while :; do sleep 0.03; done", **more):
        self.popen = subprocess.Popen([*stage.as_uid(uid), "sh", "-c", script], **more)
        self.pid = self.popen.pid
        program = os.path.realpath(PYTHON if script.startswith("exec ") else shutil.which("sh"))
        stage.wait_until(lambda: os.readlink(f"/proc/{self.pid}/exe") == program, 20)  # its last exec, and so its name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.kill()
        self.popen.wait()


def own_process(failures, _play):
    """What each user may do: see its own, and nothing of the other's in between."""
    def watch(pid):
        peer = Peer()
        answer = peer.watch(pid)
        came = peer.listen(5, lambda record: record["tgid"] == pid)
        look = peer.ask(LOOK, pid)
        return {"error": answer["error"], "pid": answer["pid"], "came": came, "look": look["error"],
                "tgids": sorted({record["tgid"] for record in peer.records}),
                "now": any(r["kind"] == 3 for r in peer.records)}

    with Victim(ONE, "while :; do read x < /dev/null; sleep 0.03; done") as mine, Victim(OTHER_ONE) as theirs:
        for uid, victim in ((ONE, mine), (OTHER_ONE, theirs)):
            seen = as_user(uid, watch, victim.pid)
            failures.check(seen.get("error") == 0 and seen["pid"] == victim.pid and seen["look"] == 0,
                           f"uid {uid} watches its own: {seen}")
            failures.check(seen.get("came") and seen["tgids"] == [victim.pid] and seen["now"],
                           f"and sees it, and nobody else: {seen}")


def foreign_process(failures, _play):
    def try_both(pid):
        peer = Peer()
        answer = peer.watch(pid)
        return [answer, peer.ask(LOOK, pid), peer.ask(UNWATCH, pid), peer.listen(0.5, lambda _: True)]

    with Victim(OTHER_ONE) as theirs:
        root = Peer()
        failures.check(root.watch(theirs.pid)["error"] == 0, "root may ask for anybody's process")
        for pid, whose in ((theirs.pid, "another user's"), (os.getpid(), "root's"), (1, "the machine's first")):
            watch, look, unwatch, came = as_user(ONE, try_both, pid)
            failures.check(watch["error"] == EPERM and "asked for as one of uid 61001's" in watch["why"],
                           f"{whose} process is refused: {watch['why']}")
            failures.check(look["error"] == ENOENT and unwatch["error"] == ENOENT and not came,
                           f"and cannot be looked at, nor taken from who watches it: {look}, {unwatch}")
        root.records.clear()
        failures.check(root.listen(5, lambda record: record["tgid"] == theirs.pid), "root still sees it")
        root.close()


def set_user_id(failures, play):
    """A program that its user started and may not look at: from the start, and by exec while it is watched."""
    program = play.dir / "sleep-as-root"
    play.dir.chmod(0o755)
    shutil.copy(shutil.which("sleep"), program)
    program.chmod(0o4755)

    def watch(pid):
        peer = Peer()
        return [peer.watch(pid), peer.ask(LOOK, pid)]

    victim = subprocess.Popen([*stage.as_uid(ONE), program, "30"])
    is_root = stage.wait_until(lambda: f"Uid:\t{ONE}\t0" in pathlib.Path(f"/proc/{victim.pid}/status").read_text(), 5)
    if not is_root:
        print("skipped: set-user-id programs do not work here (nosuid)")
        victim.kill()
        victim.wait()
        return
    answer, look = as_user(ONE, watch, victim.pid)
    failures.check(answer["error"] == EPERM and look["error"] == ENOENT,
                   f"its own set-user-id program is refused: {answer['why']}")
    victim.kill()
    victim.wait()

    def through_exec(go):
        pid = os.fork()
        if pid == 0:
            os.read(go, 1)
            os.execl(program, "sleep", "0.6")
        peer = Peer()
        watched = peer.watch(pid)
        time.sleep(0.2)
        os.write(go_write, b"x")
        comm = pathlib.Path(f"/proc/{pid}/comm")
        stage.wait_until(lambda: os.path.basename(comm.read_text().strip()).startswith("sleep-as"), 5)
        peer.listen(0.3)
        look = peer.ask(LOOK, pid)
        again = peer.watch(pid)
        before = len(peer.records)
        os.waitpid(pid, 0)
        peer.listen(0.5)
        sleeps = [r for r in peer.records if r["system_call"] in (35, 230, 101, 115) or "sleep-as" in r["thread"]]
        return {"watched": watched["error"], "look": look["error"], "again": again["error"], "why": again["why"],
                "before": before, "sleeps": sleeps}

    go_read, go_write = os.pipe()
    seen = as_user(ONE, through_exec, go_read)
    failures.check(seen.get("watched") == 0, f"before its exec it is watched: {seen}")
    failures.check(seen.get("look") in (ESRCH, EPERM, ENOENT) and seen.get("again") == EPERM and not seen["sleeps"],
                   f"after it nothing is shown, and it is refused: {seen}")


def pid_used_again(failures, _play):
    """The other user's process gets the number of one that was watched and has ended."""
    def watch_child(number_pipe, go):
        pid = os.fork()
        if pid == 0:
            os.read(go[0], 1)
            os._exit(0)
        fd = os.pidfd_open(pid)
        peer = Peer()
        watched = peer.ask(WATCH, fds=[fd])
        os.write(go[1], b"x")
        os.waitpid(pid, 0)
        os.write(number_pipe[1], struct.pack("i", pid))
        os.read(taken[0], 1)
        peer.listen(1.0)
        return {"watched": watched["error"], "dead": peer.ask(WATCH, fds=[fd]), "look": peer.ask(LOOK, pid),
                "foreign": [r for r in peer.records if r["thread"] == "reborn"],
                "reborn": peer.watch(pid)}

    number, go, taken = os.pipe(), os.pipe(), os.pipe()
    reborn = []

    def take_number():
        pid, = struct.unpack("i", os.read(number[0], 4))
        last = pathlib.Path("/proc/sys/kernel/ns_last_pid")
        for _ in range(200):
            last.write_text(str(pid - 1))
            victim = os.fork()  # and no exec, which would end a watch by itself
            if victim == 0:
                os.setresgid(OTHER_ONE, OTHER_ONE, OTHER_ONE)
                os.setresuid(OTHER_ONE, OTHER_ONE, OTHER_ONE)
                LIBC.prctl(15, b"reborn", 0, 0, 0)  # PR_SET_NAME
                while True:
                    time.sleep(0.03)
            if victim == pid:
                reborn.append(victim)
                break
            os.kill(victim, signal.SIGKILL)
            os.waitpid(victim, 0)
        time.sleep(0.5)
        os.write(taken[1], b"x")

    import threading
    thread = threading.Thread(target=take_number)
    thread.start()
    seen = as_user(ONE, watch_child, number, go)
    thread.join()
    if not reborn:
        print("skipped: the number could not be had again")
        return
    os.kill(reborn[0], signal.SIGKILL)
    os.waitpid(reborn[0], 0)
    failures.check(seen.get("watched") == 0 and seen["dead"]["error"] == ESRCH,
                   f"the pidfd of one that has ended is of nobody: {seen}")
    failures.check(seen.get("look", {}).get("error") in (ESRCH, ENOENT) and not seen["foreign"],
                   f"of its number's next owner nothing is shown: {seen}")
    failures.check(seen.get("reborn", {}).get("error") == EPERM, f"who is refused: {seen}")


def start_ticks(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def forged_box(failures, play):
    """A black box of a user's whose lock is held by a set-user-id program, with that one's start time: his collector
    says that it does not look there, and does not ask the helper to."""
    program = play.dir / "sleep-as-root"
    shutil.copy(shutil.which("sleep"), program)
    program.chmod(0o4755)
    stage.give(play, ONE)
    os.chown(program, 0, 0)
    program.chmod(0o4755)
    job = stage.run_as(ONE, play, *stage.workload("--ranks=2", "--steps=1000", "--step-ms=20", "--limit=60"),
                       **play.plugin())
    if not failures.check(stage.wait_until(lambda: len(list(play.boxes.rglob("*.rwbox"))) == 2, 30),
                          "a job leaves boxes"):
        return
    box = next(iter(play.boxes.rglob("rank0-*.rwbox")))
    ticks = struct.pack("<Q", start_ticks(int(box.stem.partition("-")[2])))
    play.kill_everything()
    job.wait(10)

    def hold_and_exec():
        fd = os.open(box, os.O_RDWR)
        os.set_inheritable(fd, True)
        fcntl.lockf(fd, fcntl.LOCK_EX)
        header = os.pread(fd, 4096, 0)
        os.pwrite(fd, struct.pack("<Q", start_ticks(os.getpid())), header.index(ticks))
        os.execl(program, "sleep", "30")

    victim = os.fork()
    if victim == 0:
        os.setgroups([])
        os.setresgid(ONE, ONE, ONE)
        os.setresuid(ONE, ONE, ONE)
        hold_and_exec()
    try:
        if not stage.wait_until(lambda: f"Uid:\t{ONE}\t0" in pathlib.Path(f"/proc/{victim}/status").read_text(), 10):
            print("skipped: set-user-id programs do not work here (nosuid)")
            return
        collector = stage.run_as(ONE, play, stage.RANKWATCH, "collect", "--job", play.dir.name)
        told = stage.wait_until(lambda: [line for _, line in collector.err.lines
                                         if "points at a process that is not watched" in line], 20)
        failures.check(told and f"process {victim} has uids {ONE}, 0" in told[0],
                       f"a box that points there is refused aloud: {told}")
        collector.popen.terminate()
        collector.wait(10)
    finally:
        os.kill(victim, signal.SIGKILL)
        os.waitpid(victim, 0)


def no_pidfd(failures, _play):
    def try_it(kind):
        peer = Peer()
        files = {"file": lambda: os.open("/dev/null", os.O_RDONLY),
                 "directory": lambda: os.open("/proc/self", os.O_RDONLY),
                 "pipe": lambda: os.pipe()[0], "socket": lambda: socket.socket().detach(),
                 "two": lambda: os.pidfd_open(os.getpid()), "none": lambda: -1,
                 "with a look": lambda: os.pidfd_open(os.getpid())}
        fd = files[kind]()
        fds = [] if kind == "none" else [fd, fd] if kind == "two" else [fd]
        try:
            return peer.ask(LOOK if kind == "with a look" else WATCH, fds=fds)
        except Gone:
            return "gone"

    for kind in ("file", "directory", "pipe", "socket", "two", "none", "with a look"):
        answer = as_user(ONE, try_it, kind)
        failures.check(answer == "gone", f"handed over: {kind}: the connection is ended: {answer}")
    failures.check(as_user(ONE, lambda: Peer().greeting)["error"] == 0, "and the helper lives")


def lingering(failures, _play):
    """A socket that takes half a minute to close is handed over by one user; the others are answered meanwhile."""
    def hand_over():
        server, client = socket.socket(), socket.socket()
        server.bind(("127.0.0.1", 0))
        server.listen(1)
        client.connect(server.getsockname())
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 20))
        client.setblocking(False)
        try:
            while True:
                client.send(b"x" * 65536)
        except BlockingIOError:
            pass
        for _ in range(4):
            peer = Peer()
            peer.send(WATCH, fds=[client.fileno()])
        client.close()
        time.sleep(3)
        return "done"

    begin = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os._exit(as_user(ONE, hand_over) != "done")
    time.sleep(0.5)
    slowest = 0.0
    for _ in range(20):
        asked = time.monotonic()
        answer = as_user(OTHER_ONE, lambda: Peer().greeting)
        slowest = max(slowest, time.monotonic() - asked)
        failures.check(answer.get("error") == 0, "another user is greeted") if answer.get("error") else None
    failures.check(os.waitpid(pid, 0)[1] == 0, "sockets that linger were handed over")
    failures.check(slowest < 2.0, f"the slowest of 20 greetings took {slowest:.2f} s, the whole "
                                  f"{time.monotonic() - begin:.1f} s", timed=True)


def stopped_peer(failures, _play):
    """One client never reads; the other's records are all there."""
    noise = ("import threading,time\n[threading.Thread(target=lambda: [time.sleep(0.011) for _ in iter(int, "
             "1)]).start() for _ in range(64)]")
    with Victim(ONE, f"exec {PYTHON} -c '{noise}'") as mine, Victim(OTHER_ONE) as theirs:
        def stand_still(pid, ready):
            peer = Peer()
            answer = peer.watch(pid)
            os.write(ready, b"x")
            time.sleep(6)
            peer.socket.settimeout(5)
            lost = None
            for _ in range(400):
                peer.receive()
                lost = peer.lost
                if lost[0]:
                    break
            return {"error": answer["error"], "lost": lost}

        def listen(pid):
            peer = Peer()
            answer = peer.watch(pid)
            peer.listen(4)
            return {"error": answer["error"], "records": len(peer.records), "lost": peer.lost}

        ready = os.pipe()
        results = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(results[1], json.dumps(as_user(ONE, stand_still, mine.pid, ready[1])).encode())
            os._exit(0)
        os.read(ready[0], 1)
        seen = as_user(OTHER_ONE, listen, theirs.pid)
        os.waitpid(child, 0)
        still = json.loads(os.read(results[0], 65536))
        failures.check(seen.get("error") == 0 and seen["records"] >= 20 and seen["lost"] and seen["lost"][0] == 0,
                       f"who listens beside one that does not gets everything: {seen}")
        failures.check(still.get("error") == 0 and still["lost"] and still["lost"][0] > 0,
                       f"who does not is told what it lost: {still}")


def foreign_waker(failures, play):
    """Who ended a wait is named to its own user, and root; to others it is "other user"."""
    play.dir.chmod(0o755)
    fifo = play.dir / "fifo"
    os.mkfifo(fifo)
    fifo.chmod(0o666)

    def watch(pid):
        peer = Peer()
        peer.watch(pid)
        peer.listen(5, lambda record: record["tgid"] == pid and record["waker"])
        return [[r["waker"], r["waker_tid"], r["waker_tgid"]] for r in peer.records if r["waker"]]

    read = f"exec {PYTHON} -c \"import os; fd = os.open('{fifo}', os.O_RDWR)\nwhile True: os.read(fd, 1)\""
    write = (f"exec {PYTHON} -c \"import os, time; fd = os.open('{fifo}', os.O_RDWR)\nwhile True: os.write(fd, b'x'); "
             "time.sleep(0.1)\"")
    for writer, expected in ((OTHER_ONE, [["other user", OTHER, 0]]), (ONE, None)):
        with Victim(ONE, read) as reader, Victim(writer, write) as waker:
            expected = expected or [[pathlib.Path(f"/proc/{waker.pid}/comm").read_text().strip(), waker.pid, waker.pid]]
            seen = as_user(ONE, watch, reader.pid)
            failures.check(seen and all(entry == expected[0] for entry in seen), f"ended by uid {writer}: {seen[:1]}")
            if writer == OTHER_ONE:
                seen = watch(reader.pid)
                failures.check(seen and seen[0][1] == waker.pid, f"root is told who it was: {seen[:1]}")


def too_many(failures, _play):
    def connect(count):
        peers, answers = [], []
        for _ in range(count):
            peer = Peer(hello=False)
            peers.append(peer)
            try:
                answers.append(peer.ask(HELLO)["error"])
            except (Gone, OSError):
                answers.append("gone")
        beside = os.fork()
        if beside == 0:
            os._exit(0)
        os.waitpid(beside, 0)
        return answers

    answers = as_user(ONE, connect, 20)
    failures.check(answers[:16] == [0] * 16 and set(answers[16:]) <= {EUSERS, "gone"},
                   f"of 20 connections of one user 16 are served: {answers}")
    again = stage.wait_until(lambda: as_user(ONE, connect, 1) == [0], 5)
    failures.check(again, "when they have gone, the next is")
    failures.check(as_user(ONE, lambda: Peer(hello=False).ask(HELLO, version=7))["error"] != 0,
                   "another version is refused")


def three_jobs(failures, _play):
    """Two of one user's, one of the other's, through `rankwatch run`: level ebpf for all, with one set of programs."""
    with stage.Stage() as slow, stage.Stage() as quiet, stage.Stage() as others:
        stage.give(slow, ONE), stage.give(quiet, ONE), stage.give(others, OTHER_ONE)
        lock = stage.scenarios()["lock"]
        plain = ("--ranks=4", "--elements=1024", "--step-ms=40", "--steps=200")
        jobs = {
            "slow": stage.run_as(ONE, slow, stage.RANKWATCH, "run", "--findings", "-", "--",
                                 *stage.demo_workload(lock)),
            "quiet": stage.run_as(ONE, quiet, stage.RANKWATCH, "run", "--findings", "-", "--", *stage.workload(*plain)),
            "others": stage.run_as(OTHER_ONE, others, stage.RANKWATCH, "run", "--findings", "-", "--",
                                   *stage.workload(*plain)),
        }
        watched = stage.wait_until(lambda: all("with eBPF (rankwatchd)" in job.err.text_now() for job in jobs.values()),
                                   20)
        failures.check(watched, "each job says that it is watched through rankwatchd")
        programs = helpers_programs()
        failures.check(programs is None or len(programs) == 1, f"one set of programs is loaded: {programs}")

        def causes_found():
            found = [value for _, value in jobs["slow"].out.json() if value.get("kind") == "straggler"]
            return {(value.get("cause") or {}).get("class"): value.get("level") for value in found}

        stage.wait_until(lambda: "lock" in causes_found(), 60)
        causes = causes_found()
        jobs["slow"].popen.terminate()
        for name, job in jobs.items():
            status = job.wait(120)
            failures.check(status == 0 or name == "slow" and status is not None, f"job {name} ends with {status}")
            if not watched or status:
                print(job.err.text())
        failures.check("lock" in causes, f"the slow job's cause is found: {causes}")
        failures.check(causes.get("lock") == "ebpf", f"by eBPF: {causes}")
        for name in ("quiet", "others"):  # 16 ranks on few cores may wait for a CPU, and that is then said
            told = [value for _, value in jobs[name].out.json() if value.get("severity") in ("warning", "critical") and
                    (value.get("cause") or {}).get("class") != "cpu"]
            failures.check(not told, f"job {name} has no finding but about its CPUs: {told[:1]}")


def helper_pids():
    return [HELPER.popen.pid,
            *map(int, pathlib.Path(f"/proc/{HELPER.popen.pid}/task/{HELPER.popen.pid}/children").read_text().split())]


def helpers_programs():
    """Ids of the helper's programs for one tracepoint: of those that are loaded, the ones that it holds. None without
    bpftool."""
    shown = subprocess.run(["bpftool", "prog", "show", "-j"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                           text=True)
    held = {int(line.split()[1]) for pid in helper_pids() for file in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir()
            for line in file.read_text().splitlines() if line.startswith("prog_id:")}
    return held & {p["id"] for p in json.loads(shown.stdout)
                   if p.get("name") == "on_switch"} if shown.returncode == 0 else None


def stalls(failures, _play):
    """The kernel's own table, through the helper, against the clock of the thread that waited: for root, and for an
    ordinary user."""
    for whose, begin in (("root", []), ("a user", stage.as_uid(ONE))):
        run = subprocess.run([*begin, HOST_STALLS, "--helper"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True)
        print("    " + run.stdout.replace("\n", "\n    "))
        failures.check(run.returncode == 0,
                       f"waits match the clock of {whose}'s thread that waited: status {run.returncode}")


def killed(failures, _play):
    """The helper ends and comes again: the collector falls to /proc meanwhile, says so, and goes back to it."""
    with stage.Stage() as play:
        job = play.start(stage.RANKWATCH, "run", "--findings", "-", "--",
                         *stage.workload("--ranks=2", "--elements=1024", "--step-ms=40", "--steps=100000",
                                         "--limit=25"))
        said = stage.wait_until(lambda: any("(rankwatchd)" in line for _, line in job.err.lines), 20)
        failures.check(said, "watched through the helper")
        HELPER.stop()
        lost = stage.wait_until(lambda: any("rankwatchd has gone" in line for _, line in job.err.lines), 20)
        failures.check(lost, "that it has gone is said")
        HELPER.start()
        environment = play.environment()
        back = stage.wait_until(lambda: "with eBPF (rankwatchd)" in subprocess.run([stage.RANKWATCH, "ls"],
                                                                                   env=environment,
                                                                                  stdout=subprocess.PIPE,
                                                                                   text=True).stdout, 20, 0.5)
        failures.check(back, "and when it is there again, it is asked again")
        job.popen.terminate()
        job.wait(60)
        print("    " + job.err.text().replace("\n", "\n    "))


def activated(failures, play):
    """As systemd starts it: an ordinary uid with three capabilities, and a socket that somebody else listens at."""
    path = play.dir / "given"
    play.dir.chmod(0o755)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(str(path))
    path.chmod(0o666)
    listener.listen(8)
    stream = socket.socket(socket.AF_UNIX)
    stream.bind(str(play.dir / "stream"))
    stream.listen(1)

    def start(given):
        caps = "+cap_34,+cap_38,+cap_39"  # CAP_SYSLOG, CAP_PERFMON, CAP_BPF
        script = 'exec env LISTEN_PID=$$ LISTEN_FDS=1 "$0"'
        fd = os.dup(given.fileno())
        return subprocess.Popen(["setpriv", "--reuid=61003", "--regid=61003", "--clear-groups",
                                 "--inh-caps=-all," + caps,
                                 "--ambient-caps=-all," + caps, "--bounding-set=-all," + caps, "bash", "-c",
                                 f"exec 3<&{fd}; " + script,
                                 HELPER.program], stderr=subprocess.PIPE, text=True, pass_fds=[fd])

    helper = start(listener)
    first = helper.stderr.readline()
    failures.check("systemd has given it" in first, f"it takes the socket: {first.strip()}")
    status = pathlib.Path(f"/proc/{helper.pid}/status").read_text()
    failures.check("CapPrm:\t0000000000000000" in status or KEPT in first, "and keeps no capability")
    with Victim(ONE) as mine:
        def watch(pid):
            peer = Peer(path=str(path))
            return [peer.watch(pid)["error"], peer.listen(5, lambda record: record["tgid"] == pid),
                    peer.ask(LOOK, pid)["error"]]
        failures.check(as_user(ONE, watch, mine.pid) == [0, True, 0], "a user's process is watched through it")
    helper.terminate()
    failures.check(helper.wait(10) == 0, "SIGTERM ends it")
    wrong = start(stream)
    failures.check(wrong.wait(10) == 1 and "ListenSequentialPacket" in wrong.stderr.read(),
                   "a socket of another type is refused in words")


# Beside other tests: who may do what. Without them, as times are compared: timed.
CASES = {
    "beside": [own_process, foreign_process, set_user_id, pid_used_again, forged_box, no_pidfd, lingering, stopped_peer,
               foreign_waker,
               too_many, activated, killed, three_jobs],
    "timed": [stalls],
}


def confined(failures):
    for pid in helper_pids():
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
                      if ":\t" in line)
        kept = KEPT in HELPER.first and pid == HELPER.popen.pid
        failures.check(kept or int(status["CapPrm"], 16) == int(status["CapBnd"], 16) == 0,
                       f"process {pid} has no capability")
        failures.check(status["Uid"].split()[0] == "65534" and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2",
                       "it is nobody, gains nothing by exec, and has a filter for system calls: "
                       f"{status['Uid'].split()}")


def main(names):
    failures = stage.Failures()
    said = HELPER.start()
    print(said)
    if "nothing can be watched" in said:
        HELPER.stop()
        stage.skip(said)
    try:
        confined(failures)
        for case in [case for group, cases in CASES.items() for case in cases if not names or group in names
                     or case.__name__ in names]:
            print(f"-- {case.__name__}", flush=True)
            with stage.Stage() as play:
                case(failures, play)
        failures.check(HELPER.popen.poll() is None, "the helper has outlived all of it")
    finally:
        HELPER.stop()
    failures.end()


if __name__ == "__main__":
    if not stage.ROOT:
        stage.skip("two users are played by root only")
    stage.need_mount_namespace()
    reach = stage.as_uid(ONE)
    if subprocess.run([*reach, "test", "-x", stage.RANKWATCH
                       or sys.argv[1]]).returncode or subprocess.run([*reach, PYTHON, "-c", ""]).returncode:
        stage.skip(f"another user may not reach {stage.RANKWATCH or sys.argv[1]} or {PYTHON}")
    stage.in_own_run_directory()
    HELPER, HOST_STALLS = stage.Helper(sys.argv[1]), sys.argv[2]
    main(sys.argv[3:])
