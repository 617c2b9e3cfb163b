#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wheel.py WHEEL STAND_IN: installs the wheel of scripts/package into a new venv, without network, and looks at a job
with it. STAND_IN is the folder with the stand-in's libnccl.so.2 and libcuda.so.1 (build/sim). Four ranks of Python,
rank 2 is late: rankwatch.findings() must yield it while the job runs, with the program's own step numbers. With PyTorch
here the launcher is torchrun."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

JOB = pathlib.Path(__file__).parents[1] / "integration" / "python_job.py"
FAULTY, FIRST = 2, 5000
READER = """
import sys, time, rankwatch
for attempt in range(200):
    try:
        for finding in rankwatch.findings(job=sys.argv[1], follow=True):
            print(finding.kind, finding.ranks, finding.late and finding.late.since_step, finding, sep="|", flush=True)
        break
    except rankwatch.CommandError:
        time.sleep(0.1)  # no collector yet
"""


def install(folder, wheel):
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    subprocess.run([folder / "bin/pip", "install", "-q", "--no-index", "--disable-pip-version-check", wheel],
                   check=True)
    return folder / "bin"


def launcher(folder):
    torchrun = shutil.which("torchrun")
    if torchrun is None:
        return [sys.executable, JOB, "sleep"]
    # --redirects and --tee: PyTorch 1.13 with Python 3.11 takes its own defaults for none at all.
    return [torchrun, "--standalone", "--nproc_per_node", "4", "--redirects", "1", "--tee", "1", "--log_dir",
            folder / "logs", JOB, "sleep", folder]


def play(folder, programs, stand_in, boxes):
    environment = dict(os.environ, RANKWATCH_DIR=boxes, LD_LIBRARY_PATH=stand_in, FIRST_STEP=str(FIRST))
    reader = subprocess.Popen([programs / "python", "-c", READER, "wheel"], env=environment, stdout=subprocess.PIPE,
                              text=True)
    job = subprocess.run([programs / "rankwatch", "run", "--job", "wheel", "--", *launcher(folder)],
                         env=dict(environment, RANKWATCH_JOB="wheel"))
    lines = reader.communicate()[0].splitlines()
    return job.returncode, lines


def check_cut_off(programs, folder):
    """A copy that has not come to its end: the job runs."""
    program, = (folder / "venv").rglob("_tree/bin/rankwatch.bin")
    whole = program.read_bytes()
    program.unlink()
    program.write_bytes(whole[:100_000])
    program.chmod(0o755)
    job = ["sh", "-c", "echo works; exit 5"]
    done = subprocess.run([programs / "rankwatch", "run", *job], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (5, "works\n"), done
    assert "it was not copied to its end; the job runs without" in done.stderr, done


def main():
    with tempfile.TemporaryDirectory(prefix="rankwatch-wheel-") as folder, \
            tempfile.TemporaryDirectory(prefix="rankwatch-wheel-", dir="/dev/shm") as boxes:
        folder = pathlib.Path(folder)
        programs = install(folder / "venv", sys.argv[1])
        for command in ([programs / "rankwatch"], [programs / "python", "-m", "rankwatch"]):
            said = subprocess.run([*command, "version"], check=True, capture_output=True, text=True).stdout
            assert said.startswith("rankwatch "), said
        status, lines = play(folder, programs, str(pathlib.Path(sys.argv[2]).resolve()), boxes)
        print(*lines, sep="\n")
        late = [line.split("|") for line in lines if line.startswith("straggler|")]
        assert status == 0, f"the job ended with {status}"
        assert late, "no straggler was yielded"
        assert {line[1] for line in late} == {f"[{FAULTY}]"}, late
        assert int(late[-1][2]) >= FIRST, late
        check_cut_off(programs, folder)
        subprocess.run([programs / "pip", "uninstall", "-q", "-y", "rankwatch"], check=True)
        assert not (programs / "rankwatch").exists()
        left = [path for path in (folder / "venv").rglob("*rankwatch*")]
        assert not left, left
    return 0


if __name__ == "__main__":
    sys.exit(main())
