#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""slurm.py BUILD: contrib/slurm/task-prolog and epilog as Slurm calls them, which gives an epilog neither a PATH nor
variables of ours: a task that is preceded by nothing records itself, and its boxes are saved and removed when the job
has ended. What cannot be saved stays, and the node's log has a line of it. As root, with a /dev/shm of its own."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "contrib/slurm"
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
BOXES = pathlib.Path("/dev/shm/rankwatch-0/slurm-77.0")
OF_JOB = {"SLURM_JOB_ID": "77", "SLURM_JOBID": "77", "SLURM_STEP_ID": "0"}


def run(command, **names):
    return subprocess.run(command, env=names, capture_output=True, text=True)


class Slurm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rankwatch-slurm.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "logger").write_text(f'#!/bin/sh\necho "$@" >>{self.folder}/log\n')
        (self.folder / "logger").chmod(0o755)

    def task(self):
        """What the prolog says is exported; the task is then a process like any other."""
        names = {**OF_JOB, "PATH": f"{BUILD}/console:{os.environ['PATH']}", "LD_LIBRARY_PATH": f"{BUILD}/sim"}
        said = run(["/bin/sh", SCRIPTS / "task-prolog"], **names).stdout.splitlines()
        exported = dict(line.removeprefix("export ").split("=", 1) for line in said)
        self.assertLess({"LD_PRELOAD", "NCCL_PROFILER_PLUGIN"}, set(exported), said)
        workload = [BUILD / "sim/workload/workload", "--ranks", "2", "--steps", "3", "--step-ms", "10"]
        done = run(workload, **{**names, **exported})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(BOXES.glob("*.rwbox"))), 2, done.stderr)

    def epilog(self, saved):
        """With the lines that its first comment says are to be changed."""
        text = (SCRIPTS / "epilog").read_text()
        text, paths = re.subn(r"(?m)^PATH=/shared/rankwatch/bin:", f"PATH={BUILD}/console:{self.folder}:", text)
        text, places = re.subn(r"(?m)^saved=\S+", f"saved={saved}", text)
        self.assertEqual((paths, places), (1, 1))
        (self.folder / "epilog").write_text(text)
        done = run(["/bin/sh", self.folder / "epilog"], SLURM_JOB_ID="77", SLURM_JOB_UID="0")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def test_what_a_task_has_recorded_is_saved_when_the_job_has_ended(self):
        self.task()
        self.assertIn("/proc/nowhere", self.epilog("/proc/nowhere"))
        self.assertTrue(BOXES.is_dir())
        (self.folder / "log").unlink()
        self.assertEqual(self.epilog(self.folder / "saved"), "")
        self.assertEqual(len(list(self.folder.glob("saved/slurm-77.0/*.rwbox.gz"))), 2)
        self.assertFalse(BOXES.exists())

    def test_who_wants_none_has_none(self):
        names = {"PATH": f"{BUILD}/console:{os.environ['PATH']}", "RANKWATCH": "off"}
        self.assertEqual(run(["/bin/sh", SCRIPTS / "task-prolog"], **names).stdout, "")


def main():
    if os.geteuid():
        print("skipped: it needs root")
        return 77
    if "--alone" not in sys.argv:
        script = 'mount -t tmpfs tmpfs /dev/shm && exec "$0" "$@"'
        alone = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script]
        return subprocess.run([*alone, sys.executable, __file__, BUILD, "--alone"]).returncode
    sys.argv.remove("--alone")
    return unittest.main(verbosity=1)


if __name__ == "__main__":
    sys.exit(main())
