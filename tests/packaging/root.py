#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""root.py TREE.tar.gz SIM ROOT…: tries the relocatable tree in roots of other systems, which debootstrap has made, as
root. SIM is the stand-in's folder (sim/ of a build with the compiler of scripts/package, so that it runs in them). In
each: version, doctor, a job with a late rank, top for a moment, report, the page, a trace, copy-to, uninstall. Where
glibc is older than 2.28 or missing: one line says so, and a job runs all the same. Prints a line of each root: its
system, its glibc, what was tried or what failed."""
import contextlib
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

LATE, LIMIT_S = 2, 120
OLDEST_GLIBC = (2, 28)
RANKWATCH = "/opt/rankwatch/bin/rankwatch"
JOB = (f"{RANKWATCH} run --job roots --save /saved -- /sim/workload/workload --ranks 4 --steps 40 --step-ms 100 "
       f"--fault lock --fault-ms 600 --fault-step 8 --fault-rank {LATE}")


class Root:
    """A root with a mount namespace of its own for each command: /proc, /dev and an empty /dev/shm."""

    def __init__(self, path, shm):
        self.path, self.shm = path, shm

    def command(self, line):
        script = (f"mount -t proc proc {self.path}/proc && mount --bind /dev {self.path}/dev && mount --bind "
                  f"{self.shm} {self.path}/dev/shm && "
                  f"exec chroot {self.path} /bin/sh -c \"$0\"")
        return ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, line]

    def environment(self):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LD_LIBRARY_PATH": "/sim", "TERM": "xterm-256color",
                "HOME": "/root", "LC_ALL": "C.UTF-8"}

    def run(self, line, expected=(0,)):
        done = subprocess.run(self.command(line), env=self.environment(), capture_output=True, text=True,
                              errors="replace", timeout=LIMIT_S)
        if done.returncode not in expected:
            raise AssertionError(f"{line}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def must_say(self, line, words, expected=(0,)):
        said = self.run(line, expected)
        if words not in said:
            raise AssertionError(f"{line} does not say {words!r}:\n{said}")
        return said

    def start(self, line):
        """A job that is watched by now, and what it has said until then."""
        job = subprocess.Popen(self.command(line), env=self.environment(), stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
        said = ""
        for text in job.stdout:
            said += text
            if " watching " in text:
                break
        return job, said

    def top(self):
        """In a terminal, whose description comes with the tree where the system has none."""
        pid, terminal = pty.fork()
        if pid == 0:
            line = self.command(f"{RANKWATCH} top")
            os.execvpe(line[0], line, self.environment())
        shown, end = b"", time.monotonic() + 10
        while time.monotonic() < end and b"quit" not in shown:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    shown += os.read(terminal, 1 << 16)
                except OSError:
                    break
        if b"\x1b[" not in shown:
            raise AssertionError(f"top shows nothing: {shown[:400]!r}")
        os.write(terminal, b"q")
        while True:
            try:
                if not os.read(terminal, 1 << 16):
                    break
            except OSError:
                break
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0:
            raise AssertionError(f"top ended badly: {shown[-400:]!r}")


@contextlib.contextmanager
def shared_memory():
    """A collector may put away its own a moment after the job has ended."""
    shm = tempfile.mkdtemp(prefix="rankwatch-roots-", dir="/dev/shm")
    try:
        yield shm
    finally:
        end = time.monotonic() + 10
        while os.path.exists(shm):
            shutil.rmtree(shm, ignore_errors=time.monotonic() < end)


def put(tree, sim, root):
    target = root.path / "opt/rankwatch"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    subprocess.run(["tar", "-xzf", tree, "-C", target, "--strip-components=1"], check=True)
    put_sim(sim, root)


def put_sim(sim, root):
    shutil.rmtree(root.path / "sim", ignore_errors=True)
    (root.path / "sim/workload").mkdir(parents=True)
    for name in ("libnccl.so.2", "libcuda.so.1", "libnvidia-ml.so.1", "workload/workload"):
        shutil.copy(sim / name, root.path / "sim" / name)


def play(root):
    root.must_say(f"{RANKWATCH} version", "rankwatch ")
    root.must_say(f"{RANKWATCH} doctor", "plugin", (0, 1))
    job, said = root.start(JOB)
    root.top()
    said += job.communicate(timeout=LIMIT_S)[0]
    if job.returncode != 0 or f"rank {LATE} (" not in said:
        raise AssertionError(f"{JOB}: status {job.returncode}\n{said}")
    root.must_say(f"{RANKWATCH} report /saved", f"rank {LATE}")
    root.run(f"{RANKWATCH} report --html /job.html /saved && grep -q '</html>' /job.html")
    root.run(f"{RANKWATCH} trace --output /job.pftrace /saved && test -s /job.pftrace")
    root.run(f"{RANKWATCH} copy-to /copied && /copied/bin/rankwatch version && /copied/bin/rankwatch run -- /bin/true")
    root.run("rm -rf /opt/rankwatch /copied /saved /job.html /job.pftrace /sim")


def glibc_of(root):
    """Its version; () without one."""
    said = root.run("getconf GNU_LIBC_VERSION 2>/dev/null || echo none").strip()
    return tuple(map(int, said.split()[1].split("."))) if said.startswith("glibc ") else ()


def play_refused(root, glibc):
    why = f"this is glibc {'.'.join(map(str, glibc))}" if glibc else "this system has none"
    said = root.must_say(f"{RANKWATCH} run --save /saved -- echo works",
                         "; the job runs without rankwatch").splitlines()
    if len(said) != 2 or said[0] != "works" or why not in said[1]:
        raise AssertionError(f"not one line with {why!r}: {said}")
    root.must_say(f"{RANKWATCH} top", why, (1,))


def try_in(tree, sim, path):
    with shared_memory() as shm:
        root = Root(path, shm)
        put(tree, sim, root)
        system = root.run("PRETTY_NAME='no os-release'; [ ! -e /etc/os-release ] || . /etc/os-release; echo "
                          "$PRETTY_NAME").strip()
        glibc = glibc_of(root)
        try:
            if glibc >= OLDEST_GLIBC:
                play(root)
            else:
                play_refused(root, glibc)
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            print(f"FAILED  {system}\n{failure}", flush=True)
            return False
    done = ("version, doctor, run, top, report, report --html, trace, copy-to, uninstall" if glibc >= OLDEST_GLIBC
            else "refused in one line, the job ran")
    print(f"ok      {system}, glibc {'.'.join(map(str, glibc)) or 'none'}: {done}", flush=True)
    return True


def main():
    tree, sim = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    return 0 if all([try_in(tree, sim, pathlib.Path(root).resolve()) for root in sys.argv[3:]]) else 1


if __name__ == "__main__":
    sys.exit(main())
