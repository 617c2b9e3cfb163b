# SPDX-License-Identifier: MIT
"""`rankwatch top` in a real terminal (tmux), before a collector that plays a script: keys, sizes, a collector that goes
and comes, and what becomes of the terminal. `top.py dead`: on the black boxes of recorded jobs whose ranks were all
killed, back to when the fault began. The screens are compared with those in tests/integration/top-screens; --write
makes them anew: look at what has changed."""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid

import stage

RANKWATCH = os.environ.get("TEST_RANKWATCH", "")
SCREENS = pathlib.Path(__file__).resolve().parent / "top-screens"
JOB = "top-test-" + uuid.uuid4().hex[:8]
TAPES = SCREENS.parents[1] / "tapes"
RANKS, STEPS, LATE = 8, 39, 3
VIEWS = ["overview", "ranks", "communicators", "rank", "values", "findings"]
PATIENCE = 20


def skip(reason):
    print(f"skipped: {reason}", flush=True)
    sys.exit(77)


class Collector:
    """Speaks protocol 1 to whoever comes: eight ranks, of which rank 3 is late from step 20 on."""

    def __init__(self, path):
        self.path, self.clients = path, []
        self.start_ms = time.time() * 1e3
        self.server = None

    def open(self):
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(self.path))
        self.server.listen(4)
        threading.Thread(target=self.accept, args=[self.server], daemon=True).start()

    def close(self):
        self.path.unlink(missing_ok=True)
        for one in [self.server, *self.clients]:
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()
        self.clients = []

    def accept(self, server):
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client):
        try:
            self.send(client, {"hello": self.hello()})
            self.send(client, self.finding())
            for line in client.makefile():
                request = json.loads(line)
                if "subscribe" in request:
                    self.send(client, {"id": request["id"], "subscribed": request["subscribe"]})
                    self.send(client, self.snapshot())
                elif "rank" in request.get("get", {}):
                    self.send(client, {"id": request["id"], "rank": self.detail(request["get"]["rank"])})
        except (OSError, ValueError):
            pass

    def hello(self):
        return {"protocol": 1, "job": JOB, "pid": 1, "open": 1, "level": "ebpf", "below": "root", "processes": RANKS,
                "with_ebpf": RANKS, "why": None,
                "a new key": [{}]}

    @staticmethod
    def send(client, message):
        client.sendall(json.dumps(message).encode() + b"\n")

    def utc(self, ms):
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms / 1e3)) + ".000Z"

    def finding(self):
        return {"schema": 1, "id": "a-3", "state": "open", "revision": 1, "severity": "warning",
                "confidence": "certain",
                "kind": "straggler", "ranks": [LATE], "scope": "rank", "time": self.utc(self.start_ms),
                "first_seen": self.utc(self.start_ms - (STEPS - 20) * 1e3),
                "where": [{"rank": LATE, "host": "node0", "pid": 103}],
                "operation": {"comm_name": "~fsdp", "function": "AllGather", "sequence": 118},
                "late": {"kind": "host", "by_ms": 300, "waiting": [0, 1, 2, 4, 5, 6, 7]},
                "cause": {"class": "io", "text": "fsync(2)", "path": "/x/\x1b[2Jevents", "thread": "python-main",
                          "share": 0.93},
                "evidence": [{"source": "bpf", "ms": 1209, "what": "fsync"}],
                "text": f"rank {LATE} makes every step 300 ms longer: 30 % of the step, since step 20",
                "advice": "write the log to a local or memory file system"}

    def row(self, rank):
        return {"rank": rank, "host": "node0", "pid": 100 + rank, "life": "alive", "doing": "works",
                "since_unix_ms": None,
                "operation": None, "thread": None, "step": STEPS, "own_ms": 28000 if rank != LATE else 34000,
                "wait_ms": 6000 if rank != LATE else 0, "transfer_ms": 500, "unseen_ms": 0, "lost_ms": 42000
                if rank == LATE else 0,
                "operations": 400, "clean_scans": 10,
                "scanning": {"buffers": 10, "left_out": 150 * (rank == 1), "host_ms": 1.5, "gpu_ms": 4.0}}

    def detail(self, rank):
        at = self.start_ms
        return self.row(rank) | {
            "threads": [{"tid": 7, "thread": "python-main", "state": "D", "system_call": "fsync", "path": "/x/events",
                         "from_unix_ms": at - 310,
                         "until_unix_ms": at, "stack": ["ext4_sync_file", "jbd2_log_wait_commit"]}],
            "blocked": [{"tid": tid, "thread": thread, "state": "D" if tid == 7 else "S", "system_call": call,
                         "path": file, "from_unix_ms": at - ago - took,
                         "until_unix_ms": at - ago, "stack": []}
                        for tid, thread, call, file, ago,
                        took in ((7, "python-main", "fsync", "/x/events", 0, 310),
                                 (8, "pt_data_worker", "futex", None, 20, 8000),
                                                                   (7, "python-main", "fsync", "/x/events", 1000, 290),
                                 (7, "python-main", "write", "/x/events", 2010, 340))],
            "last_operations": [{"comm_name": "~fsdp", "function": "AllGather", "sequence": 200 - i, "phase": "done",
                                 "called_unix_ms": at - 100 * i,
                                 "arrived_unix_ms": at - 100 * i, "done_unix_ms": at - 100 * i + 40, "late_ms": 300
                                 if i == 2 else 0}
                                for i in range(6)]}

    def column(self, step):
        slow, end = step >= 20, self.start_ms - (STEPS - step) * 1e3
        column = {"step": step, "last_step": step, "from_unix_ms": end - 1000, "until_unix_ms": end,
                  "own_ms": [1000 if slow and rank == LATE else 700 for rank in range(RANKS)]}
        if slow:
            column["wait_ms"] = [0 if rank == LATE else 300 for rank in range(RANKS)]
            column["lost_ms"] = [300 * (RANKS - 1) if rank == LATE else 0 for rank in range(RANKS)]
        # Values grow on ~fsdp; on ~tp the operands are overwritten, and of every other step nothing was scanned.
        column["magnitudes"] = {"brought": [2.0 * 1.3 ** max(step - 20, 0), None], "by": [LATE, None],
                                "result": [None, 0.5 if step % 2 else None]}
        return column

    def snapshot(self):
        members = [{"rank": rank, "calls": 400 - 2 * (rank == LATE)} for rank in range(RANKS)]
        return {"snapshot": {
            "unix_ms": self.start_ms,
            "job": {"id": JOB, "processes": RANKS, "ranks_total": RANKS, "communicators": 1, "steps": STEPS,
                                              "step_ms": 1000.0, "first_step_ms": 700.0},
            "watchdog": {"timeout_ms": 3600000, "from": "cmdline", "since_unix_ms": self.start_ms - 2000,
                         "deadline_unix_ms": self.start_ms + 3598000},
            "sight": {"level": "ebpf", "below": "root", "processes": RANKS, "with_ebpf": RANKS, "why": None},
            "ranks": [self.row(rank) for rank in range(RANKS)],
            "gpus": [{"rank": rank, "sm_mhz": 1980, "sm_mhz_max": 1980, "celsius": 45, "watts": 640, "watts_cap": 700,
                      "memory_used": 61 << 30,
                      "memory_total": 80 << 30, "clock_reasons": ["power_cap"], "xid": 79 * (rank == 5) or None}
                     for rank in range(RANKS)],
            "communicators": [{"comm": "0x5eed", "name": "~fsdp", "size": RANKS, "members": members}],
            "flights": [{"comm": "0x5eed", "comm_name": "~fsdp", "function": "AllGather", "sequence": 118,
                         "joined": [0, 1, 2, 4, 5, 6, 7], "missing": [LATE], "unseen": 0}],
            "findings": ["a-3"], "cells": {"changes": STEPS, "ranks": list(range(RANKS)), "more_lines": False,
                                           "lines": [{"comm": "0x5eed", "name": "~fsdp"},
                                                     {"comm": "0x5eee", "name": "~tp"}],
                                           "columns": [self.column(step) for step in range(1, STEPS + 1)]}}}


class AllNodes(Collector):
    """The collector of all nodes: three hosts, of which one is silent; rank 2 is late, and the three others that it is
    compared with wait."""

    def hello(self):
        return {"protocol": 1, "job": JOB, "pid": 1, "open": 1, "all_nodes": True, "hosts": 3, "silent": 1, "ranks": 6}

    def finding(self):
        told = super().finding()
        return told | {"ranks": [2], "where": [{"rank": 2, "host": "host-b", "pid": 102}],
                       "late": {"kind": "host", "by_ms": 300, "waiting": [0, 1, 3]},
                       "text": "rank 2 makes every step 300 ms longer: 30 % of the step, since step 20"}

    def row(self, rank):
        silent, late = rank > 3, rank == 2
        return {"rank": rank, "host": f"host-{'abc'[rank // 2]}", "pid": 100 + rank, "life": "alive", "doing": "unknown"
                if silent else "works",
                "why": "fsync(2)" if late else None, "seen_unix_ms": self.start_ms + 600e3, "own_ms": 34000 if late
                else 28000, "inside_ms": 0 if late else 6000,
                "unseen_ms": 0, "lost_ms": None if silent else 18000 * late, "compared": None if silent else 4,
                "operations": 400}

    def detail(self, rank):
        return self.row(rank) | {"answer": "fsync(2) of /x/events, 310 ms\nnvml: 1980 MHz"}

    def column(self, second):
        slow, end = second >= 20, self.start_ms - (STEPS - second) * 1e3
        return {"step": None, "last_step": None, "from_unix_ms": end - 1000, "until_unix_ms": end,
                "own_ms": [1000 if slow and rank == 2 else 700 for rank in range(4)] + [0, 0],
                "inside_ms": [0 if slow and rank == 2 else 300 for rank in range(4)] + [0, 0],
                "lost_ms": [900 * (slow and rank == 2) for rank in range(6)]}

    def snapshot(self):
        level = ["ebpf", "proc", "ebpf"]
        hosts = [{"host": f"host-{name}", "state": "silent" if name == "c" else "heard", "level": level[i], "ranks": 2,
                  "heard_unix_ms": self.start_ms - 3600e3 * (name == "c")} for i, name in enumerate("abc")]
        return {"snapshot": {
            "unix_ms": self.start_ms,
            "job": {"id": JOB, "all_nodes": True, "processes": 6, "ranks_total": 6, "communicators": 1,
                    "operations": 2400},
            "watchdog": None, "sight": None, "ranks": [self.row(rank) for rank in range(6)], "hosts": hosts,
            "communicators": [{"comm": "0x5eed", "name": "world", "size": 6,
                               "members": [{"rank": rank, "calls": None} for rank in range(6)]}],
            "flights": [], "findings": ["a-3"],
            "cells": {"changes": STEPS, "ranks": list(range(6)),
                      "columns": [self.column(second) for second in range(1, STEPS + 1)]}}}


class Terminal:
    def __init__(self, folder, command, environment=None):
        self.server = ["tmux", "-u", "-S", str(folder / uuid.uuid4().hex[:8]), "-f", "/dev/null"]
        # The terminal's size counts, whatever the shell has exported.
        environment = dict(environment or os.environ, LC_ALL="C.UTF-8", TZ="UTC", HOME=str(folder), COLUMNS="80",
                           LINES="24")
        # The shell tells how the program ended and what it left of the terminal.
        shell = (f"env TERM=screen-256color {command}; echo \"status $?\"; stty -a | tr ';' '\\n' | grep -w -- icanon; "
                 "sleep 1000")
        subprocess.run([*self.server, "new-session", "-d", "-x", "80", "-y", "24", shell], check=True, env=environment)

    def tmux(self, *arguments):
        return subprocess.run([*self.server, *arguments], check=True, capture_output=True, text=True).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def until(self, what, *text):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            screen = self.screen()
            if what(screen):
                return screen
            time.sleep(0.05)
        print(self.screen())
        sys.exit(f"FAILED: never came: {text or what}")

    def shows(self, text):
        return self.until(lambda screen: text in screen, text)

    def child(self):
        """The process of the program itself."""
        shell = self.tmux("display", "-p", "#{pane_pid}").strip()
        return int(subprocess.run(["pgrep", "-P", shell], check=True, capture_output=True, text=True).stdout.split()[0])

    def close(self):
        subprocess.run([*self.server, "kill-server"], capture_output=True)


def steady(screen):
    """Without what depends on when it was drawn."""
    screen = screen.replace(JOB, "JOB")
    screen = re.sub(r"\d{4}-\d\d-\d\d", "yyyy-mm-dd", screen)
    screen = re.sub(r"\d\d:\d\d:\d\d", "hh:mm:ss", screen)
    screen = re.sub(r"for 1 h 0\d m", "for 1 h mm m", screen)  # since when a host is silent
    screen = re.sub(r"\d+ m \d\d s left of 1 h 00 m", "mm m ss s left of 1 h 00 m", screen)
    return "\n".join(line.rstrip() for line in screen.rstrip().split("\n")) + "\n"


def compare(terminal, name, write, failures):
    file = SCREENS / f"{name}.txt"
    if write:
        time.sleep(1)
        file.write_text(steady(terminal.screen()))
        return
    expected, end = file.read_text(), time.monotonic() + PATIENCE
    while (seen := steady(terminal.screen())) != expected:
        if time.monotonic() > end:
            failures.append(name)
            print(f"--- expected {name}\n{expected}--- seen\n{seen}")
            return
        time.sleep(0.05)


def drive(terminal, write, failures):
    """Every view at both sizes, the past, the search."""
    for size, (width, height) in {"80x24": (80, 24), "200x60": (200, 60)}.items():
        terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
        for key, view in enumerate(VIEWS, 1):
            terminal.keys(str(key))
            compare(terminal, f"{size}-{view}", write, failures)
        terminal.keys("F1")
        compare(terminal, f"{size}-help", write, failures)
        terminal.keys("Escape")
    terminal.tmux("resize-window", "-x", "80", "-y", "24")
    terminal.keys("1")
    terminal.keys(*["Left"] * 25)
    terminal.shows("PAST step 14")
    compare(terminal, "80x24-past", write, failures)
    terminal.keys("Escape")
    terminal.shows("LIVE")
    terminal.keys("2", "F3", "5", "Enter")
    compare(terminal, "80x24-search", write, failures)
    terminal.keys("Escape")
    terminal.tmux("resize-window", "-x", "12", "-y", "3")
    terminal.tmux("resize-window", "-x", "80", "-y", "24")
    terminal.keys("1")
    terminal.shows("STRAGGLER")


class Killed(Collector):
    """One that was killed when somebody had just connected to it."""

    def serve(self, client):
        client.shutdown(socket.SHUT_RDWR)


class OfAnotherJob(Collector):
    """At the address that jobs share."""

    def hello(self):
        return super().hello() | {"job": "another"}


def falls_back(path):
    """No collector of this job answers on this host: the one of all nodes is asked, whoever may have accepted the
    connection."""
    for node in (None, Killed(path), OfAnotherJob(path)):
        of_all = AllNodes(path.with_name(path.stem + ".all-nodes"))
        of_all.open()
        if node:
            node.open()
        try:
            top = subprocess.run([RANKWATCH, "top", "--once", "--job", JOB], capture_output=True, text=True,
                                 env=dict(os.environ, LC_ALL="C"), check=False)
            if top.returncode or "all nodes" not in top.stdout:
                sys.exit(f"FAILED: top --once does not fall back with {type(node).__name__}: {top}")
        finally:
            of_all.close()
            if node:
                node.close()


def one_of_several(path):
    """Without --job one is shown, and it is said that there are others."""
    other = Collector(path.with_name(path.name.replace(JOB, JOB + "-too")))
    other.open()
    try:
        top = subprocess.run([RANKWATCH, "top", "--once"], capture_output=True, text=True,
                             env=dict(os.environ, LC_ALL="C.UTF-8"), check=False)
        if top.returncode or not re.search(r"^ .* \(1 of \d+ jobs here\)",
                                           top.stdout) or not re.search(r"one of \d+ jobs here; --job NAME",
                                                                        top.stderr):
            sys.exit(f"FAILED: top without --job beside another job: {top}")
    finally:
        other.close()


def all_nodes(folder, path, write, failures):
    """What is there of many hosts alone, and what the views of one host say then."""
    collector = AllNodes(path)
    collector.open()
    terminal = Terminal(folder, f"{RANKWATCH} top --all-nodes --job {JOB}")
    try:
        terminal.shows("STRAGGLER")
        for size, (width, height) in {"80x24": (80, 24), "200x60": (200, 60)}.items():
            terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
            for key, view in {"1": "overview", "7": "hosts", "3": "communicators", "4": "rank", "5": "values"}.items():
                terminal.keys(key)
                compare(terminal, f"{size}-all-nodes-{view}", write, failures)
        terminal.tmux("resize-window", "-x", "80", "-y", "24")
        terminal.keys("7")
        terminal.shows("HOST, worst first")
        terminal.keys("Enter")
        compare(terminal, "80x24-all-nodes-of-a-host", write, failures)
        terminal.keys("q")
        terminal.shows("status 0")
    finally:
        terminal.close()
        collector.close()


def collector_goes_and_comes(terminal, collector):
    collector.close()
    terminal.shows("collector gone, waiting")
    terminal.shows("STRAGGLER")
    collector.open()
    terminal.shows("LIVE")


def starts_within(folder, command, limit):
    """How long the verdict takes to be on the screen, the terminal's own start included: the best of three, because
    others use the machine."""
    times = []
    for _ in range(3):
        begin = time.monotonic()
        terminal = Terminal(folder, command)
        try:
            terminal.shows("STRAGGLER")
            times.append(time.monotonic() - begin)
            with open(f"/proc/{terminal.child()}/stat") as file:
                ticks = sum(map(int, file.read().rpartition(")")[2].split()[11:13]))
        finally:
            terminal.close()
    print(f"the verdict is on the screen after {', '.join(f'{one:.2f}' for one in times)} s; CPU time "
          f"{ticks / os.sysconf('SC_CLK_TCK'):.2f} s", flush=True)
    if min(times) > limit:
        sys.exit(f"FAILED: it took longer than {limit} s each time")


def ends(folder, command, how, status):
    """The terminal is as it was, however the program ends."""
    terminal = Terminal(folder, command)
    try:
        terminal.shows("STRAGGLER")
        how(terminal)
        screen = terminal.shows("status")
        screen = terminal.until(lambda seen: "icanon" in seen, "icanon")
        if f"status {status}" not in screen or "-icanon" in screen or "STRAGGLER" in screen:
            sys.exit(f"FAILED: {how}: {screen}")
    finally:
        terminal.close()


def look_back(terminal, name, write, failures):
    """All views of the end; then step by step to before the fault, and the views of its first step."""
    for key, view in enumerate(VIEWS, 1):
        terminal.keys(str(key))
        compare(terminal, f"{name}-{view}", write, failures)
    if name != "io-rank0":
        return
    terminal.keys("1", *["Left"] * 4)
    terminal.shows("PAST step 6")
    terminal.shows("HEALTHY")
    terminal.keys("Right")
    for key, view in (("1", "overview"), ("2", "ranks"), ("6", "findings")):
        terminal.keys(key)
        terminal.shows("PAST step 7")
        compare(terminal, f"{name}-past-{view}", write, failures)
    terminal.tmux("resize-window", "-x", "200", "-y", "60")
    terminal.keys("1")
    compare(terminal, f"{name}-past-200x60", write, failures)
    terminal.keys("Escape")
    terminal.shows("OVER")


def dead(write):
    failures = []
    for name in ("io-rank0", "never"):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="rwtop"))
        boxes = folder / "boxes"
        boxes.mkdir()
        subprocess.run([os.environ["TEST_TAPE_PLAYER"], TAPES / f"{name}.tape", "boxes", boxes], check=True)
        terminal = Terminal(folder, f"{RANKWATCH} top {boxes}")
        try:
            terminal.shows("OVER")
            look_back(terminal, name, write, failures)
            terminal.keys("q")
            terminal.shows("status 0")
        finally:
            terminal.close()
        over_without_argument(boxes, failures)
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(f"FAILED: {failures}" if failures else 0)


def over_without_argument(boxes, failures):
    """Where no collector serves the job, its boxes are shown; where it left none, that is said."""
    job = json.loads(subprocess.run([RANKWATCH, "ls", "--json", boxes], capture_output=True, text=True,
                                    check=True).stdout.splitlines()[0])["job"]
    for directory, status, words in ((boxes, 0, ("no collector is running", "OVER")),
                                     (boxes.parent / "none", 1, ("no collector serves job",))):
        top = subprocess.run([RANKWATCH, "top", "--once", "--job", job], capture_output=True, text=True, check=False,
                             env=dict(os.environ, RANKWATCH_DIR=str(directory)))
        if top.returncode != status or not all(word in top.stderr + top.stdout for word in words):
            failures.append(f"top without a directory: {top}")


def main():
    write = "--write" in sys.argv
    if not shutil.which("tmux"):
        skip("no tmux (Debian: tmux)")
    SCREENS.mkdir(exist_ok=True)
    # whose sockets are those of the whole machine: other jobs' collectors come, go and stand still
    if os.geteuid() == 0:
        stage.need_mount_namespace()
        stage.in_own_run_directory()
    if "dead" in sys.argv:
        dead(write)
    folder, failures = pathlib.Path(tempfile.mkdtemp(prefix="rwtop")), []
    place = pathlib.Path("/run/rankwatch") if os.geteuid() == 0 else folder
    path = place / (f"{JOB}.socket" if os.geteuid() == 0 else f"rankwatch-{JOB}.sock")
    os.environ["XDG_RUNTIME_DIR"] = str(folder)
    place.mkdir(mode=0o700, exist_ok=True)
    command = f"{RANKWATCH} top --job {JOB}"
    collector = Collector(path)
    collector.open()
    terminal = Terminal(folder, command)
    try:
        terminal.shows("STRAGGLER")
        drive(terminal, write, failures)
        collector_goes_and_comes(terminal, collector)
    finally:
        terminal.close()
    one_of_several(path)
    all_nodes(folder, path.with_name(path.stem + ".all-nodes"), write, failures)
    starts_within(folder, command, 1)
    ends(folder, command, lambda terminal: terminal.keys("q"), 0)
    ends(folder, command, lambda terminal: terminal.keys("F10"), 0)
    ends(folder, command, lambda terminal: terminal.keys("C-c"), 0)
    ends(folder, command, lambda terminal: os.kill(terminal.child(), signal.SIGTERM), 0)
    ends(folder, command, lambda terminal: os.kill(terminal.child(), signal.SIGSEGV), 139)
    once = subprocess.run([RANKWATCH, "top", "--once", "--job", JOB], capture_output=True, text=True, check=True,
                          env=dict(os.environ, LC_ALL="C", TZ="UTC")).stdout
    if "STRAGGLER" not in once or not once.isascii() or "\x1b" in once:
        sys.exit(f"FAILED: --once: {once}")
    data = json.loads(subprocess.run([RANKWATCH, "top", "--json", "--job", JOB], capture_output=True, text=True,
                                     check=True).stdout)
    if len(data["ranks"]) != RANKS or data["findings"][0]["id"] != "a-3":
        sys.exit("FAILED: --json")
    collector.close()
    falls_back(path)
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(f"FAILED: {failures}" if failures else 0)


if __name__ == "__main__":
    main()
