#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bad_trees.py BUILD LIBDIR: the relocatable tree where it cannot work as a whole or in part. One line says why, and
the job runs all the same. The tree is laid of what is in BUILD; LIBDIR is the folder of libraries that its command
knows."""
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD, LIBDIR = pathlib.Path(sys.argv.pop(1)).resolve(), sys.argv.pop(1)
PLUGIN, DRILL = "libnccl-profiler-rankwatch.so", "librankwatch-drill.so"
JOB = ("sh", "-c", "echo works; exit 5")


def lay(tree, cpu=platform.machine(), launcher=True):
    """A tree as scripts/package makes one, with this build's files."""
    (tree / "bin").mkdir(parents=True)
    (tree / LIBDIR).mkdir(parents=True)
    shutil.copy(BUILD / "console/rankwatch", tree / "bin/rankwatch")
    shutil.copy(BUILD / "plugin" / PLUGIN, tree / LIBDIR / PLUGIN)
    shutil.copy(BUILD / "drill" / DRILL, tree / LIBDIR / DRILL)
    if launcher:
        subprocess.run([SOURCE / "packaging/add_launcher", tree, cpu], check=True)
    return tree


def cut(path, keep):
    os.truncate(path, keep)


def make_arm(path):
    """The machine in its header is another one."""
    content = bytearray(path.read_bytes())
    content[18:20] = (0xB7 if content[18] != 0xB7 else 0x3E).to_bytes(2, "little")
    path.write_bytes(content)


class Trees(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="rankwatch-trees.")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, tree, *arguments, **environment):
        """Status, output, and what of the lines on stderr is about the tree."""
        names = {**os.environ, "RANKWATCH_DIR": str(self.folder / "boxes"), "XDG_RUNTIME_DIR": str(self.folder),
                 **environment}
        program = tree / "bin/rankwatch" if isinstance(tree, pathlib.Path) else tree
        done = subprocess.run([program, *arguments], capture_output=True, text=True, env=names)
        return done.returncode, done.stdout, done.stderr

    def check_job_runs(self, tree, *words):
        status, out, said = self.start(tree, "run", "--save", self.folder / "saved", "--", *JOB)
        self.assertEqual((status, out), (5, "works\n"), said)
        lines = [line for line in said.splitlines() if re.search(r"runs (without|unwatched)", line)]
        self.assertEqual(len(lines), 1, said)
        for word in words:
            self.assertIn(word, lines[0])
        return said


class Command(Trees):
    """The command itself cannot run: its launcher says so."""

    def check_refused(self, tree, *words):
        said = self.check_job_runs(tree, *words)
        self.assertEqual(len(said.splitlines()), 1, said)
        for arguments in (("top",), ("run",), ("run", "--"), ("run", "--save"), ("run", "-j", "a")):
            status, out, said = self.start(tree, *arguments)
            self.assertEqual((status, out, len(said.splitlines())), (1, "", 1), said)
            self.assertNotIn("runs without", said)

    def put(self, tree, text):
        """A command that is this script, and as large as the one that was packaged."""
        path = tree / "bin/rankwatch.bin"
        size = path.stat().st_size
        path.write_bytes(text.encode().ljust(size, b"\n"))

    def test_one_that_can_run_is_started_through_links_too(self):
        tree = lay(self.folder / "a tree")
        (self.folder / "bin").mkdir()
        (self.folder / "bin/rankwatch").symlink_to(tree / "bin/rankwatch")
        status, out, said = self.start("rankwatch", "run", "--", *JOB, PATH=f"{self.folder}/bin:{os.environ['PATH']}")
        self.assertEqual((status, out), (5, "works\n"), said)
        self.assertNotIn("runs without", said)

    def test_a_job_runs_however_it_is_written(self):
        """As the usage of `run` names its options, each with a value behind "=" or as the next word."""
        tree = lay(self.folder / "tree")
        usage = self.start(tree, "run", "--usage")[1]
        values, flags = re.findall(r"\[--([a-z-]+)=", usage), re.findall(r"\[--([a-z-]+)\]", usage)
        self.assertTrue({"save", "job"} <= set(values) and {"quiet", "no-preload", "json"} <= set(flags), usage)
        cut(tree / "bin/rankwatch.bin", 40)
        written = [(), ("--",), ("-q",), ("-qj", "a"), ("-ja",), ("-j", "a", "-J"), ("--sav", "a"), ("--qui",)]
        written += [("--save", "a", "--no-preload", "--"), *((f"--{name}", "a") for name in values)]
        written += [*((f"--{name}=a",) for name in values),
                    *((f"--{name}",) for name in set(flags) - {"help", "usage"})]
        for options in written:
            status, out, said = self.start(tree, "run", *options, *JOB)
            self.assertEqual((status, out), (5, "works\n"), (options, said))

    def test_another_machine(self):
        self.check_refused(lay(self.folder / "tree", "riscv64"),
                           f"it is for riscv64, and this machine is {platform.machine()}")

    def test_cut_off(self):
        for keep in (0, 40, 100_000):
            tree = lay(self.folder / f"tree{keep}")
            cut(tree / "bin/rankwatch.bin", keep)
            self.check_refused(tree, "rankwatch.bin is cut off: it was not copied to its end")

    def test_missing(self):
        tree = lay(self.folder / "tree")
        (tree / "bin/rankwatch.bin").unlink()
        self.check_refused(tree, "rankwatch.bin is missing")

    def test_no_glibc(self):
        tree = lay(self.folder / "tree")
        launcher = tree / "bin/rankwatch"
        launcher.write_text(re.sub(r"/lib\S*/ld-linux[^ )]*", "/nowhere/ld.so", launcher.read_text()))
        self.check_refused(tree, "it needs glibc 2.28, and this system has none (no /nowhere/ld.so)")

    def test_glibc_too_old(self):
        tree = lay(self.folder / "tree")
        self.put(tree, "#!/bin/sh\necho \"$0: /lib/libc.so.6: version \\`GLIBC_2.28' not found (required by $0)\" "
                       ">&2\nexit 1\n")
        self.check_refused(tree, "it needs glibc 2.28, and this is glibc ")

    def test_not_executable(self):
        tree = lay(self.folder / "tree")
        (tree / "bin/rankwatch.bin").chmod(0o644)
        self.check_refused(tree, "rankwatch.bin does not run here", "ermission denied")


class Plugin(Trees):
    """The plugin cannot be loaded: the command says so."""

    def test_what_the_loader_would_not_take(self):
        for name, spoil, why in (("missing", pathlib.Path.unlink, "No such file or directory"),
                                 ("cut", lambda path: cut(path, 100_000), "it was not copied to its end"),
                                 ("empty", lambda path: cut(path, 0), "it was not copied to its end"),
                                 ("arm", make_arm, "it is for another kind of machine")):
            tree = lay(self.folder / name)
            spoil(tree / LIBDIR / PLUGIN)
            self.check_job_runs(tree, PLUGIN, why)

    def test_of_two_versions_the_first_on_path_brings_its_own(self):
        first, second = lay(self.folder / "first"), lay(self.folder / "second")
        path = f"{first}/bin:{second}/bin:{os.environ['PATH']}"
        script = "echo $LD_PRELOAD $LD_LIBRARY_PATH"
        status, out, said = self.start("rankwatch", "run", "--", "sh", "-c", script, PATH=path,
                                       LD_LIBRARY_PATH=f"{second}/{LIBDIR}", LD_PRELOAD="")
        self.assertEqual(status, 0, said)
        self.assertTrue(out.startswith(f"{first}/{LIBDIR}/{PLUGIN}"), out)
        self.assertLess(out.index(f"{first}/{LIBDIR}:"), out.index(f"{second}/{LIBDIR}"), out)
        _, out, _ = self.start("rankwatch", "doctor", PATH=path)
        self.assertIn(f"{first}/{LIBDIR}/{PLUGIN}", out)
        self.assertNotIn(f"{second}/{LIBDIR}/{PLUGIN}", out)

    def test_a_tree_that_goes_away_under_the_job(self):
        """As one on a server that is taken off: what starts later has no rankwatch, says so, and works."""
        tree = lay(self.folder / "tree")
        status, out, said = self.start(tree, "run", "--save", self.folder / "saved", "--", "sh", "-c",
                                       f"rm -r {tree}; sh -c 'echo works'; exit 5")
        self.assertEqual((status, out), (5, "works\n"), said)
        self.assertRegex(said, rf"{PLUGIN}.*cannot be preloaded")


class CopyTo(Trees):
    def test_a_place_that_cannot_be_written(self):
        """Root may write everywhere but on a file system that is read-only."""
        tree = lay(self.folder / "tree", launcher=False)
        status, out, said = self.start(tree, "copy-to", "/proc/rankwatch")
        self.assertEqual((status, out), (1, ""), said)
        self.assertRegex(said, r"^rankwatch copy-to: /proc/rankwatch\S*: .+\n$")

    def copied(self, launcher, files):
        """The copy, without the tree it came from."""
        tree, copy = lay(self.folder / "tree", launcher=launcher), self.folder / "copy"
        status, out, said = self.start(tree, "copy-to", copy)
        self.assertEqual((status, out.splitlines()), (0, [str(copy / file) for file in files]), said)
        shutil.rmtree(tree)
        return copy

    def check_works(self, copy):
        status, out, said = self.start(copy, "run", "--", *JOB)
        self.assertEqual((status, out), (5, "works\n"), said)
        self.assertNotIn("runs without", said)

    def test_a_copy_works_without_the_tree(self):
        self.check_works(self.copied(False, [f"{LIBDIR}/{DRILL}", f"{LIBDIR}/{PLUGIN}", "bin/rankwatch"]))

    def test_a_copy_has_the_launcher(self):
        """In a pod it may meet an image with another C library than its own image has."""
        copy = self.copied(True, [f"{LIBDIR}/{DRILL}", f"{LIBDIR}/{PLUGIN}", "bin/rankwatch.bin", "bin/rankwatch"])
        whole = (copy / "bin/rankwatch.bin").read_bytes()
        cut(copy / "bin/rankwatch.bin", 100_000)
        self.check_job_runs(copy, "rankwatch.bin is cut off")
        (copy / "bin/rankwatch.bin").write_bytes(whole)
        self.check_works(copy)


if __name__ == "__main__":
    unittest.main(verbosity=1)
