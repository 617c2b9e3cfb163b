# SPDX-License-Identifier: MIT
"""A stage on which one job plays under rankwatch: private directories, processes that end with it, timed output."""

import glob
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
RANKWATCH = os.environ.get("TEST_RANKWATCH", "")
PLUGIN_DIR = os.environ.get("TEST_PLUGIN_DIR", "")
SIM_DIR = os.environ.get("TEST_SIM_DIR", "")
WORKLOAD_DIR = os.environ.get("TEST_WORKLOAD_DIR", "")
SCENARIOS = os.environ.get("TEST_SCENARIOS", "")
LONG = os.environ.get("RANKWATCH_TEST_LONG") == "1"
ROOT = os.geteuid() == 0
PLUGIN = "libnccl-profiler-rankwatch.so"
RANKS = 8


def skip(reason):
    print(f"skipped: {reason}", flush=True)
    sys.exit(77)


def scenarios():
    return json.loads(subprocess.run([SCENARIOS], check=True, capture_output=True, text=True).stdout)


def settings(scenario):
    """What a demo sets for rankwatch: a scenario's own in place of those of all."""
    entries = scenarios()["environment"] + scenario["environment"]
    last = dict(entry.split("=", 1) for entry in entries)
    return [f"{name}={value}" for name, value in last.items() if name.startswith("RANKWATCH_")]


def says_settings(said, scenario):
    """A user who plays the same job need not guess why it is told more there."""
    words = said.split()
    return "set" in words and all(setting in words for setting in settings(scenario))


def need_mount_namespace():
    """Also root may not be allowed to make one: in a container, in a chroot."""
    command = ["unshare", "--mount", "--propagation", "private", "true"]
    if shutil.which("unshare") is None or subprocess.run(command, capture_output=True).returncode:
        skip("no mount namespace of its own can be had here (unshare --mount)")


def need_nobody():
    """Can an ordinary user be played, and reach what was built?"""
    if not ROOT:
        skip("only root can become nobody; the plain test runs as an ordinary user here anyway")
    need_mount_namespace()
    if subprocess.run([HERE / "as-nobody", "test", "-x", RANKWATCH]).returncode:
        skip(f"nobody may not reach {RANKWATCH}: a directory above it is closed to others")


def in_own_run_directory():
    """Begins the program again where /run is its own: a helper can be there without the machine's."""
    if os.environ.get("TEST_OWN_RUN") != "yes":
        os.environ["TEST_OWN_RUN"] = "yes"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)


def as_uid(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]


def run_as(uid, play, *arguments, **environment):
    return Process([*as_uid(uid), *map(str, arguments)], play.environment(**environment))


def give(play, uid):
    for path in (play.dir, play.boxes, play.runtime, play.events_file):
        os.chown(path, uid, uid)


class Helper:
    """A rankwatchd of the test's own, started by hand."""

    def __init__(self, program):
        self.program = program
        self.popen = None
        self.first = None

    def start(self):
        """What it says first."""
        self.popen = subprocess.Popen([self.program], stderr=subprocess.PIPE, text=True)
        self.first = self.popen.stderr.readline().strip()
        return self.first

    def stop(self):
        self.popen.send_signal(signal.SIGTERM)
        self.popen.wait(10)


class Machine:
    """What share of the processors a hypervisor took away (steal) since the object was made: the kernel's own figure,
    which knows nothing of what the test found."""

    def __init__(self):
        self.start = self._read()

    @staticmethod
    def _read():
        """Ticks of all processors, and the stolen ones of them."""
        ticks = [int(value) for value in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        return sum(ticks), ticks[7]

    def stolen(self):
        total, stolen = (now - then for now, then in zip(self._read(), self.start))
        return stolen / total if total else 0.0


class Failures:
    """Collects what is wrong, so that one run of a slow test reports everything. on_time: what is checked depends on
    when it happens, so a run on a disturbed machine proves nothing if it fails; it is then skipped aloud as not judged,
    and scripts/test counts these skips. What must hold on any machine is checked with always. Without on_time, every
    check must hold on any machine except those with timed.

    control: plays the same job without rankwatch and returns how many times as long as planned it took. A slow machine
    slows that job, too; a job that only rankwatch slows has failed."""

    STOLEN = 0.2  # of the processors: more disturbs a test of times
    PACE = 1.5  # times as long as planned: so do neighbours of which the kernel shows nothing

    def __init__(self, on_time=False, control=None):
        self.count = 0
        self.late = 0
        self.on_time = on_time
        self.control = control
        self.pace = 1.0
        self.machine = Machine()

    def check(self, right, what, always=False, timed=False):
        print(("ok     " if right else "FAILED ") + what, flush=True)
        if timed or (self.on_time and not always):
            self.late += not right
        else:
            self.count += not right
        return right

    def disturbed(self):
        """What disturbed the machine, in words; None where nothing did that is not rankwatch's own doing."""
        stolen = self.machine.stolen()
        if stolen > self.STOLEN:
            return f"{stolen:.0%} of the processors were stolen"
        if self.pace <= self.PACE or not self.control:
            return None
        alone = self.control()
        print(f"the job took {self.pace:.1f} times as long as planned, without rankwatch {alone:.1f} times", flush=True)
        return f"the job without rankwatch took {alone:.1f} times as long as planned" if alone > self.PACE else None

    def end(self):
        if self.late and not self.count and (why := self.disturbed()):
            skip(f"not judged, the machine was disturbed: {why}")
        sys.exit(1 if self.count or self.late else 0)


class Lines:
    """The lines of a stream, each with the CLOCK_MONOTONIC ns at which it was there."""

    def __init__(self, stream):
        self.lines = []
        self.thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        self.thread.start()

    def _read(self, stream):
        for line in stream:
            self.lines.append((time.monotonic_ns(), line.rstrip("\n")))

    def text_now(self):
        return "\n".join(line for _, line in list(self.lines))

    def text(self):
        self.thread.join(10)
        return "\n".join(line for _, line in self.lines)

    def json(self):
        """[(at_ns, object)]; what is no JSON object comes as {"not_json": line}."""
        found = []
        for at_ns, line in list(self.lines):
            try:
                value = json.loads(line)
            except ValueError:
                value = None
            found.append((at_ns, value if isinstance(value, dict) else {"not_json": line}))
        return found


def wait_until(condition, seconds, step=0.02):
    """Polls until the condition holds; its value, or None when the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(step)
    return None


def json_lines(text):
    """The JSON objects among the lines."""
    found = []
    for line in text.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


class Process:
    def __init__(self, arguments, environment):
        self.arguments = arguments
        self.popen = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                      stdin=subprocess.DEVNULL, text=True, errors="replace", start_new_session=True)
        self.out = Lines(self.popen.stdout)
        self.err = Lines(self.popen.stderr)

    def wait(self, seconds):
        """The exit status; None when it had to be killed. What it wrote to stdout has been read when this returns."""
        try:
            status = self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait()
            status = None
        self.out.thread.join(10)
        return status


class Stage:
    """Use as a context manager. nobody: everything runs as an ordinary user (needs root)."""

    def __init__(self, nobody=False, shared_memory="/dev/shm"):
        self.nobody = nobody
        self.mark = f"TEST_STAGE={uuid.uuid4()}"
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="rankwatch-test."))
        self.boxes = pathlib.Path(tempfile.mkdtemp(prefix="rankwatch-test.", dir=shared_memory))
        self.runtime = self.dir / "runtime"
        self.runtime.mkdir(mode=0o700)
        self.events_file = self.dir / "events"
        self.events_file.touch()
        if nobody:
            for path in (self.dir, self.boxes, self.runtime, self.events_file):
                shutil.chown(path, "nobody", "nogroup")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill_everything()
        # A collector that is killed leaves the directory of the job's name, and so do ranks that had no other for their
        # boxes. (pathlib's glob fails where another test takes one away meanwhile.)
        for left in glob.glob(f"/dev/shm/rankwatch-*/{self.dir.name}*"):
            shutil.rmtree(left, ignore_errors=True)
        shutil.rmtree(self.boxes, ignore_errors=True)
        shutil.rmtree(self.dir, ignore_errors=True)

    def environment(self, **more):
        name, value = self.mark.split("=")
        environment = {key: os.environ[key] for key in ("PATH", "HOME", "ASAN_OPTIONS", "TMPDIR") if key in os.environ}
        environment.update({
            name: value, "LC_ALL": "C", "LD_LIBRARY_PATH": SIM_DIR, "XDG_RUNTIME_DIR": str(self.runtime),
            "RANKWATCH_DIR": str(self.boxes), "RANKWATCH_JOB": self.dir.name, "WORKLOAD_EVENTS": str(self.events_file),
            "RANKWATCH_HISTORY": "4M",  # the usual 64 MiB a rank take the kernel as long to make as a short job takes
        })
        environment.update(entry.split("=", 1) for entry in scenarios()["environment"])
        environment.update(more)
        return {key: value for key, value in environment.items() if value is not None}

    def start(self, *arguments, **environment):
        prefix = [str(HERE / "as-nobody")] if self.nobody else []
        return Process(prefix + [str(argument) for argument in arguments], self.environment(**environment))

    def pids(self, command=None):
        """Processes of this stage, by the mark in their environment; command: only with this in their command line."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                marked = self.mark.encode() in (entry / "environ").read_bytes().split(b"\0")
                line = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if marked and (command is None or command.encode() in line):
                found.append(int(entry.name))
        return sorted(found)

    def kill_everything(self):
        while pids := self.pids():
            for pid in pids:
                kill(pid)
            time.sleep(0.05)

    def events(self, kind=None):
        """What the workload has written about itself so far."""
        lines = self.events_file.read_text().splitlines()
        events = [json.loads(line) for line in lines if line.endswith("}")]
        return [event for event in events if kind in (None, event["event"])]

    def rank_pids(self):
        return {event["rank"]: event["pid"] for event in self.events("start")}

    def plugin(self):
        """The environment that loads the plugin without `rankwatch run`."""
        return {"NCCL_PROFILER_PLUGIN": PLUGIN, "LD_LIBRARY_PATH": f"{SIM_DIR}:{PLUGIN_DIR}"}


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def late_in_a_row(late, steps):
    """The event of the last of so many late steps in a row; None without. A page cache that has room again lets a step
    pass in time, and a fault may begin small: neither belongs to a row."""
    usual_ms = statistics.median(event["late_ms"] for event in late) if late else 0
    row = []
    for event in late:
        if event["late_ms"] * 2 < usual_ms:
            continue
        row = row + [event] if row and event["step"] == row[-1]["step"] + 1 else [event]
        if len(row) == steps:
            return event
    return None


def workload(*arguments):
    """Loads the data of a step in 1 ms, where arguments do not say otherwise: the usual 3 ms were a seventh of what all
    live tests computed."""
    return [f"{WORKLOAD_DIR}/workload", "--host-ms=1", *arguments]


def demo_workload(scenario, *arguments):
    """As `rankwatch demo` starts it."""
    return [f"{WORKLOAD_DIR}/workload", *scenario["arguments"], *arguments]


def under(script, *command):
    return [f"{WORKLOAD_DIR}/{script}", *command]


def slow_disk(*command):
    return under("slow-disk", *command)


def when_watched(*command):
    """A job that is shorter than a busy machine takes to start its collector: it begins when the collector answers."""
    asks = f'{RANKWATCH} findings --job "${{RANKWATCH_JOB:-local}}"'
    return ["sh", "-c", f'until {asks} >/dev/null 2>&1; do sleep 0.05; done; exec "$@"', "sh", *command]


def job_result(process):
    """The JSON line that the workload prints at its end; None without one."""
    for _, value in process.out.json():
        if "checksum" in value:
            return value
    return None
