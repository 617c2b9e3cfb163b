#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""packages.py DIRECTORY SIM ROOT…: tries the .deb of scripts/package in roots that debootstrap has made, as root, and
the .rpm with this system's rpm in the same roots. DIRECTORY has the packages, SIM is the stand-in (root.py). Installed,
looked at, upgraded while a job runs, removed, purged: at the end nothing of it is left. The .deb are looked at by
lintian where that is installed. Prints a line for each."""
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

from root import Root, put_sim, shared_memory

JOB = ("/usr/bin/rankwatch run --job packages -- /sim/workload/workload --ranks 4 --steps 80 --step-ms 100 --fault "
       "lock --fault-ms 600 --fault-step 30 --fault-rank 2")
NEWER = "9.9.9"
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}


def newer_deb(deb, folder):
    """The same files as a later version."""
    unpacked = folder / deb.stem
    subprocess.run(["dpkg-deb", "-R", deb, unpacked], check=True)
    control = unpacked / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*", f"Version: {NEWER}", control.read_text(), flags=re.MULTILINE))
    made = folder / f"{deb.stem}-newer.deb"
    subprocess.run(["dpkg-deb", "-Zgzip", "--root-owner-group", "-b", unpacked, made], check=True,
                   stdout=subprocess.DEVNULL)
    return made


def look_for_errors(debs):
    if not shutil.which("lintian"):
        print("skipped lintian, which is not installed", flush=True)
        return True
    done = subprocess.run(["lintian", "--fail-on", "error,warning", *debs], capture_output=True, text=True)
    print(f"{'FAILED' if done.returncode else 'ok    '}  .deb by lintian: no error and no "
          f"warning\n{done.stdout}{done.stderr}".rstrip(), flush=True)
    return not done.returncode


def files(root):
    """What is there of rankwatch, but for the stand-in and what dpkg keeps of what it has done."""
    found = subprocess.run(["find", root.path, "-xdev", "-name", "*rankwatch*", "-not", "-path", "*/packages/*"],
                           capture_output=True, text=True, check=True).stdout
    return sorted(found.split())


def upgrade_with_a_job(root, upgrade):
    """The job started with the old files runs on, and the collector names its late rank."""
    job, said = root.start(JOB)
    upgrade()
    said += job.communicate(timeout=120)[0]
    if job.returncode or "STRAGGLER  rank 2 (" not in said:
        raise AssertionError(f"{JOB}: status {job.returncode}\n{said}")


def look(root):
    root.must_say("rankwatch version", "rankwatch ")
    root.must_say("rankwatch doctor", "/usr/lib/rankwatch/lib/libnccl-profiler-rankwatch.so", (0, 1))
    root.run("test -e /usr/lib/systemd/system/rankwatchd.socket && test -x /usr/libexec/rankwatchd && grep -q "
             "'^ExecStart=/usr/libexec/rankwatchd$' "
             "/usr/lib/systemd/system/rankwatchd.service")


def play_deb(root, debs, newer):
    here = root.path / "packages"
    here.mkdir(exist_ok=True)
    names = {deb: shutil.copy(deb, here) and f"/packages/{deb.name}" for deb in debs + newer}
    root.run("dpkg --force-depends -i " + " ".join(names[deb] for deb in debs))
    look(root)
    upgrade_with_a_job(root, lambda: root.run("dpkg --force-depends -i " + " ".join(names[deb] for deb in newer)))
    root.must_say("dpkg-query -W rankwatch", NEWER)
    look(root)
    root.run("dpkg -r rankwatch rankwatchd && dpkg -P rankwatch rankwatchd")


def rpm(root, *arguments):
    done = subprocess.run(["unshare", "--mount", "rpm", "--root", root.path, "--nodeps", *arguments],
                          capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"rpm {arguments}: {done.stdout}{done.stderr}")


def play_rpm(root, rpms):
    rpm(root, "-i", *rpms)
    look(root)
    upgrade_with_a_job(root, lambda: rpm(root, "-U", "--force", *rpms))
    look(root)
    rpm(root, "-e", "rankwatch", "rankwatchd")


def try_in(path, what, play, *packages):
    with shared_memory() as shm:
        root = Root(path, shm)
        put_sim(pathlib.Path(sys.argv[2]).resolve(), root)
        before = files(root)
        system = root.run(". /etc/os-release; echo $PRETTY_NAME").strip()
        try:
            play(root, *packages)
            left = sorted(set(files(root)) - set(before))
            if left:
                raise AssertionError(f"left: {left}")
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            print(f"FAILED  {what} in {system}\n{failure}", flush=True)
            return False
        finally:
            shutil.rmtree(root.path / "packages", ignore_errors=True)
            shutil.rmtree(root.path / "sim", ignore_errors=True)
    print(f"ok      {what} in {system}: installed, upgraded under a job, removed, purged", flush=True)
    return True


def main():
    made, roots = pathlib.Path(sys.argv[1]).resolve(), [pathlib.Path(root).resolve() for root in sys.argv[3:]]
    cpu = platform.machine()
    debs, rpms = sorted(made.glob(f"*_{DEBIAN[cpu]}.deb")), sorted(made.glob(f"*.{cpu}.rpm"))
    with tempfile.TemporaryDirectory() as folder:
        newer = [newer_deb(deb, pathlib.Path(folder)) for deb in debs]
        done = [look_for_errors(debs), *(try_in(root, ".deb", play_deb, debs, newer) for root in roots)]
    done += [try_in(root, ".rpm", play_rpm, rpms) for root in roots] if shutil.which("rpm") else []
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
