#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""module_test.py BUILD: the module of the wheel and what makes the wheel, without network and without building a
package. BUILD is a build tree with the command and the plugin."""
import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import types
import unittest
import zipfile
from unittest import mock

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(SOURCE / "packaging" / "python"))
sys.dont_write_bytecode = True

import rankwatch  # noqa: E402
from rankwatch import _command, _findings, _step  # noqa: E402

LINE = """{"schema":1,"id":"0badf00d-0","state":"open","revision":1,"severity":"warning","confidence":"likely","kind":"straggler","ranks":[2],
"scope":"rank","level":"ebpf","arrival":"gpu","time":"2026-01-02T03:04:05.678Z","first_seen":null,"detect_ms":1200,"job":{"id":"a","generation":0,
"ranks_seen":4,"ranks_total":null},"where":[{"rank":2,"host":"n7","pid":11,"gpu":null,"pci":null,"rank_from":"RANK"}],"operation":{"comm":"0x1",
"function":"AllReduce","sequence":81,"step":7},"late":{"kind":"host","by_ms":598.5,"lost_share":0.9,"since_step":7,"waiting":[0,1,3]},
"cause":{"class":"sleep","share":1,"text":"it slept","chain":[],"stack":["hrtimer_nanosleep"],"of_a_later_release":5},
"watchdog":{"timeout_ms":600000,"from":"PyTorch","left_ms":null,"longest_wait_ms":600},"values":null,"victims":[],"evidence":[{"source":"ebpf","ms":598.5,
"what":"clock_nanosleep(2)"}],"missing":["that"],"text":"rank 2 is late","advice":"look","help":"rankwatch help straggler","incident":{"id":"0badf00d-0",
"chain":[{"event":"finding","finding":"0badf00d-0","kind":"straggler","follows":null,"confidence":"likely","time":null,"text":"x"}]},"new":1}""".replace("\n", "")


def program(folder, text):
    """A command of that text, which the module takes for rankwatch."""
    path = pathlib.Path(folder) / "rankwatch"
    path.write_text(text)
    path.chmod(0o755)
    return (mock.patch.object(_findings, "command_path", lambda: str(path)),
            mock.patch.object(_command, "command_path", lambda: str(path)))


class Findings(unittest.TestCase):
    def setUp(self):
        self.folder = (self.enterContext(tempfile.TemporaryDirectory()) if hasattr(self, "enterContext")
                       else tempfile.mkdtemp())

    def command(self, text):
        for patch in program(self.folder, text):
            patch.start()
            self.addCleanup(patch.stop)

    def test_has_the_keys_of_the_schema_with_their_types(self):
        finding = rankwatch.Finding.from_json(LINE)
        self.assertEqual((finding.kind, finding.ranks, finding.late.waiting, finding.cause.class_),
                         ("straggler", [2], [0, 1, 3], "sleep"))
        self.assertEqual((finding.watchdog.from_, finding.where[0].host, finding.evidence[0].ms),
                         ("PyTorch", "n7", 598.5))
        self.assertEqual(finding.time.isoformat(), "2026-01-02T03:04:05.678000+00:00")
        self.assertEqual(finding.incident.chain[0].follows, None)
        self.assertEqual((finding.first_seen, finding.job.ranks_total, finding.values, str(finding)),
                         (None, None, None, "rank 2 is late"))
        self.assertEqual(finding.raw["new"], 1)

    def test_knows_every_key_that_the_command_writes(self):
        text = (SOURCE / "docs" / "findings.md").read_text(encoding="utf-8")
        table = text[text.index("## Keys"):text.index("Names in a finding")]
        keys = {key for line in table.splitlines() if line.startswith("| `")
                for key in line.split("|")[1].replace("`", "").replace(" ", "").split(",")}
        known = {field.name for field in rankwatch.Finding.__dataclass_fields__.values()} - {"raw"}
        self.assertEqual(known, keys)

    def test_what_is_no_finding_is_refused(self):
        for line in ("[]", "{}", "3", "{", ""):
            with self.assertRaises(ValueError):
                rankwatch.Finding.from_json(line)

    def test_are_yielded_as_the_command_prints_them(self):
        self.command(f"#!/bin/sh\n[ \"$*\" = 'findings --json --job j --follow' ] || exit 3\necho '{LINE}'\necho "
                     f"'{LINE}'\n")
        self.assertEqual([finding.id for finding in rankwatch.findings("j", follow=True)], ["0badf00d-0"] * 2)

    def test_without_a_collector_raise_its_line(self):
        self.command("#!/bin/sh\necho rankwatch findings: no collector is running >&2\nexit 1\n")
        for follow in (False, True):
            with self.assertRaisesRegex(rankwatch.CommandError, "no collector is running"):
                list(rankwatch.findings(follow=follow))

    def test_an_iterator_that_is_closed_ends_the_command(self):
        pid = pathlib.Path(self.folder) / "pid"
        self.command(f"#!/bin/sh\necho $$ >{pid}\necho '{LINE}'\nexec sleep 1000\n")
        found = rankwatch.findings(follow=True)
        next(found)
        found.close()
        with self.assertRaises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)

    def test_are_read_from_a_file(self):
        path = pathlib.Path(self.folder) / "findings.jsonl"
        path.write_text(LINE + "\n" + LINE + "\n")
        self.assertEqual(len(list(rankwatch.read_findings(path))), 2)


class Steps(unittest.TestCase):
    def setUp(self):
        _step._function, _step._looks = None, 0

    def tearDown(self):
        self.setUp()

    def test_without_the_library_nothing_happens_and_the_search_ends(self):
        with mock.patch.object(_step, "_look", return_value=None) as look:
            for number in range(2 * _step.LOOKS):
                rankwatch.step(number)
        self.assertEqual(look.call_count, _step.LOOKS)

    def test_the_library_that_is_preloaded_is_told(self):
        code = "import rankwatch, rankwatch._step as s; rankwatch.step(7); print(bool(s._function))"
        environment = dict(os.environ, PYTHONPATH=str(SOURCE / "packaging/python"), PYTHONDONTWRITEBYTECODE="1")
        for preload, told in (("", "False"), (str(BUILD / "plugin/libnccl-profiler-rankwatch.so"), "True")):
            said = subprocess.run([sys.executable, "-c", code], env=dict(environment, LD_PRELOAD=preload),
                                  capture_output=True, text=True, check=True)
            self.assertEqual(said.stdout.strip(), told, said.stderr)

    def test_numbers_that_are_none_are_left_out(self):
        told = []
        _step._function = told.append
        for number in (-1, 1 << 53, 1 << 80):
            rankwatch.step(number)
        rankwatch.step(0)
        self.assertEqual(told, [0])

    def test_a_loop_tells_each_step_before_it_waits_for_the_batch(self):
        seen = []
        _step._function = lambda number: seen.append(("step", number))

        def loader():
            for batch in "ab":
                seen.append(batch)
                yield batch
        self.assertEqual(list(rankwatch.steps(loader(), first=5)), ["a", "b"])
        self.assertEqual(seen, [("step", 5), "a", ("step", 6), "b", ("step", 7)])

    def test_callbacks_tell_the_trainers_own_numbers(self):
        told = []
        _step._function = told.append
        trainers = {"lightning": types.ModuleType("lightning"),
                    "lightning.pytorch": types.ModuleType("lightning.pytorch"),
                    "transformers": types.ModuleType("transformers")}
        trainers["lightning.pytorch"].Callback = trainers["transformers"].TrainerCallback = object
        with mock.patch.dict(sys.modules, trainers):
            import rankwatch.lightning
            import rankwatch.transformers
            rankwatch.lightning.Steps().on_train_batch_start(types.SimpleNamespace(global_step=3), None, None, 0)
            rankwatch.transformers.Steps().on_step_begin(None, types.SimpleNamespace(global_step=4), None, model=None)
        self.assertEqual(told, [3, 4])


class Command(unittest.TestCase):
    def test_environment_is_what_the_command_would_export(self):
        with mock.patch.object(_command, "command_path", lambda: str(BUILD / "console/rankwatch")), \
                mock.patch.dict(os.environ, {"LD_LIBRARY_PATH": "/it's here"}):
            made = rankwatch.env(job="a b'c")
        self.assertEqual(made["RANKWATCH_JOB"], "a b'c")
        self.assertEqual(made["LD_LIBRARY_PATH"], f"{BUILD}/plugin:/it's here")
        self.assertTrue(made["LD_PRELOAD"].startswith(f"{BUILD}/plugin/"))
        self.assertEqual(made["NCCL_PROFILER_PLUGIN"], "libnccl-profiler-rankwatch.so")

    def started(self, binary, *arguments):
        """What is said and done where that is the command."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rankwatch"
            if binary is not None:
                path.write_bytes(binary)
                path.chmod(0o755)
            code = (f"import sys; sys.path.insert(0, {str(SOURCE / 'packaging/python')!r}); sys.dont_write_bytecode = "
                    "True\n"
                    f"from rankwatch import _command as c; c.command_path = lambda: {str(path)!r}\n"
                    f"sys.argv = ['rankwatch', *{list(arguments)!r}]; sys.exit(c.main())")
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            return done.returncode, done.stdout, done.stderr

    def test_a_job_runs_whatever_is_wrong_with_the_command(self):
        arm = bytearray((BUILD / "console/rankwatch").read_bytes()[:64])
        arm[18] = 0xB7 if arm[18] != 0xB7 else 0x3E
        for why, binary in (("Exec format error", bytes(arm)), ("No such file or directory", None)):
            status, out, said = self.started(binary, "run", "--save", "x", "--", "sh", "-c", "echo works; exit 5")
            self.assertEqual((status, out), (5, "works\n"), said)
            self.assertEqual(len(said.splitlines()), 1, said)
            self.assertIn(why, said)
            self.assertIn("the job runs without rankwatch", said)

    def test_knows_the_options_of_run(self):
        program = BUILD / "console/rankwatch"
        usage = subprocess.run([program, "run", "--usage"], check=True, capture_output=True, text=True).stdout
        self.assertEqual({f"--{name}" for name in _command.RUN_OPTIONS}, set(re.findall(r"\[(--[a-z-]+=?)", usage)))
        for options in ((), ("--",), ("-q", "--save", "a"), ("-qja", "--save=a", "--")):
            self.assertEqual(_command.command_of(["run", *options, "python", "--save", "x"]), ["python", "--save", "x"])
        self.assertEqual((_command.command_of(["top", "a"]), _command.command_of(["run", "--nothing", "a"])), ([], []))

    def test_another_command_fails_with_one_line(self):
        status, _, said = self.started(b"", "top")
        self.assertEqual(status, 1, said)
        self.assertRegex(said, r"^rankwatch: \S+: Exec format error\n$")


class Wheel(unittest.TestCase):
    def tree(self, folder):
        """The layout of the relocatable tree, of files that nobody reads here and of a command that prints a word."""
        tree = pathlib.Path(folder) / "tree"
        for part in ("bin", "lib", "include/rankwatch", "share/doc/rankwatch", "share/rankwatch/terminfo/x",
                     "share/man/man1", "share/fish",
                     "share/zsh", "share/bash-completion"):
            (tree / part).mkdir(parents=True)
            (tree / part / "file").write_text(part)
        for program in ("rankwatch", "rankwatch.bin"):
            (tree / "bin" / program).write_text("#!/bin/sh\necho rankwatch\n")
            (tree / "bin" / program).chmod(0o755)
        for library in ("libnccl-profiler-rankwatch.so", "librankwatch-drill.so"):
            (tree / "lib" / library).write_text(library)
        return tree

    def make(self, tree, folder):
        path = pathlib.Path(folder)
        path.mkdir()
        subprocess.run([sys.executable, SOURCE / "packaging/wheel.py", tree, "1.2.3", "linux_test", path], check=True,
                       capture_output=True, text=True,
                       env=dict(os.environ, SOURCE_DATE_EPOCH="1700000001"))
        return path / "rankwatch-1.2.3-py3-none-linux_test.whl"

    def test_is_whole_and_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = self.tree(folder)
            wheel, again = self.make(tree, folder + "/one"), self.make(tree, folder + "/two")
            self.assertEqual(hashlib.sha256(wheel.read_bytes()).digest(), hashlib.sha256(again.read_bytes()).digest())
            with zipfile.ZipFile(wheel) as archive:
                names = archive.namelist()
                self.check_record(archive, names)
                modes = {name: stat.S_IMODE(archive.getinfo(name).external_attr >> 16) for name in names}
                for program in ("rankwatch", "rankwatch.bin"):
                    self.assertEqual(modes[f"rankwatch/_tree/bin/{program}"], 0o755)
                self.assertIn("rankwatch/py.typed", names)
                self.assertIn("rankwatch-1.2.3.data/data/share/man/man1/file", names)
                self.assertFalse([name for name in names if name.endswith(".pyc")])
                archive.extractall(folder + "/site")
            self.run_it(pathlib.Path(folder) / "site")

    def check_record(self, archive, names):
        rows = list(csv.reader(io.StringIO(archive.read("rankwatch-1.2.3.dist-info/RECORD").decode())))
        self.assertEqual(sorted(row[0] for row in rows), sorted(names))
        for name, digest, size in rows[:-1]:
            content = archive.read(name)
            self.assertEqual(digest, "sha256="
                             + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode(), name)
            self.assertEqual(int(size), len(content), name)

    def run_it(self, site):
        (site / "rankwatch/_tree/bin/rankwatch").chmod(0o755)
        said = subprocess.run([sys.executable, "-m", "rankwatch", "version"],
                              env=dict(os.environ, PYTHONPATH=str(site)), capture_output=True, text=True)
        self.assertEqual((said.returncode, said.stdout.split()[0]), (0, "rankwatch"), said.stderr)

    def test_a_tree_that_is_not_whole_makes_none(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = self.tree(folder)
            (tree / "lib/librankwatch-drill.so").unlink()
            with self.assertRaises(subprocess.CalledProcessError) as failed:
                self.make(tree, folder + "/one")
            self.assertIn("librankwatch-drill.so is missing", failed.exception.stderr)


if __name__ == "__main__":
    unittest.main()
