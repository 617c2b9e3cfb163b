# SPDX-License-Identifier: MIT
"""Jobs of two ranks under `rankwatch run`, and what must be true of their black boxes."""

import collections
import json
import os

import part
import flights
import stage


# Kinds of finding about lateness.
LATE = ("straggler", "slowdown")


class Job(stage.Stage):
    """One job with directories of its own; nothing of it outlives the `with`."""

    def __init__(self, pair, libraries=part.LIBRARIES):
        super().__init__(shared_memory=part.WORK_SHARED)
        self.pair, self.libraries = pair, libraries
        self.findings_file = self.dir / "findings"

    def environment(self, **more):
        name, value = self.mark.split("=")
        return {**os.environ, name: value, "LC_ALL": "C", "LD_LIBRARY_PATH": self.libraries,
                "SIM_CUDA_DEVICES": "1", "SIM_QUIET": "1", "XDG_RUNTIME_DIR": str(self.runtime),
                "RANKWATCH_DIR": str(self.boxes), "RANKWATCH_JOB": self.dir.name,
                "WORKLOAD_EVENTS": str(self.events_file), **self.pair.environment, **more}

    def begin(self, *command, **environment):
        run = [stage.RANKWATCH, "run", "--keep-boxes", "all", "--findings", self.findings_file, "--", *command]
        part.log("$ " + " ".join(str(word) for word in run))
        return self.start(*run, **environment)

    def finish(self, process, seconds):
        status = process.wait(part.left_s(seconds))
        part.log(process.out.text() + "\n" + process.err.text() + f"\nstatus {status}")
        return status

    def findings(self):
        """The last state of each that matters."""
        text = self.findings_file.read_text() if self.findings_file.exists() else ""
        last = {finding["id"]: finding for finding in part.json_lines(text)}
        return [finding for finding in last.values() if finding["severity"] in ("warning", "critical")]

    def ask(self, *arguments):
        process = self.start(stage.RANKWATCH, *arguments, self.boxes)
        return process.wait(part.left_s(60)), [value for _, value in process.out.json()]

    def dump(self):
        return self.ask("dump", "--header", "--comms", "--operations")[1]


def of(dump, kind):
    return [line for line in dump if line.get("part") == kind]


def operations(dump):
    """{rank: [what every run of the same program has in common]}, in program order."""
    found = collections.defaultdict(list)
    for line in sorted(of(dump, "operation"), key=lambda line: line["ticket"]):
        found[line["rank"]].append((line["function"], line.get("dtype"), line.get("count"), line["sequence"]))
    return dict(found)


def check_recorded(self, name, dump):
    """Everything there, and followed by the GPU."""
    lines = of(dump, "operation")
    states = {line["rank"]: line["gpu_progress_state"] for line in of(dump, "header")}
    self.check(sorted(states) == [0, 1], f"{name}: two black boxes")
    for header in of(dump, "header")[:1]:
        self.note(f"{name}: NCCL, profiler ABI, interposer",
                  [header[key] for key in ("nccl_version", "profiler_abi", "interposed")])
    self.check(set(states.values()) == {"watermark"}, f"{name}: GPU progress {sorted(set(states.values()))}")
    pages = {(comm["rank"], comm["comm"]): comm["gpu_done"] for comm in of(dump, "communicator")}
    followed = [line for line in lines if line.get("progress")]
    self.check(lines and len(followed) == len(lines),
               f"{name}: {len(followed)} of {len(lines)} operations followed by the GPU")
    # The plugin's thread may not have looked once more before the process ended: then the GPU's page alone tells.
    unseen = [line for line in followed if "done" not in line["known"]]
    undone = [line for line in unseen if line["progress"] > pages[line["rank"], line["comm"]]]
    self.check(followed and not undone, f"{name}: all of them done"
               + (f", but {len(undone)}, first {json.dumps(undone[0])}" if undone else ""))
    self.note(f"{name}: ends that only the GPU's page tells", len(unseen))
    for comm in of(dump, "communicator"):
        starts, ends = comm["gpu_started"], comm["gpu_done"]
        self.check(ends == starts > 0, f"{name}: rank {comm['rank']}: the GPU wrote {starts} starts and {ends} ends")
    dropped = sum(header["dropped"] for header in of(dump, "header"))
    self.check(dropped == 0, f"{name}: {dropped} operations dropped")


def said(findings):
    return "".join(f", but: {finding['text']}" for finding in findings)


def check_silent(self, name, findings):
    """Two processes on one GPU get it by turns, so one may well be late: those findings are told. No other may be."""
    late = [finding for finding in findings if finding["kind"] in LATE]
    for finding in late:
        self.note(f"{name}: found, which turns on one GPU can cause", finding["text"])
    others = [finding for finding in findings if finding["kind"] not in LATE]
    self.check(not others, f"{name}: silent" + said(others))


def check_straggler(self, name, findings, rank, cause):
    found = [finding for finding in findings if finding["kind"] == "straggler"]
    for finding in found:
        self.note(f"{name}: found", f"{finding['text']}; {(finding.get('cause') or {}).get('text')}")
    right = [finding for finding in found if finding["ranks"] == [rank]]
    self.check(right, f"{name}: rank {rank} named")
    self.check(right and right[0]["arrival"] == "gpu", f"{name}: by GPU arrival")
    if len(found) > len(right):
        self.note(f"{name}: others named, too, which turns on one GPU can cause",
                  [finding["ranks"] for finding in found if finding["ranks"] != [rank]])
    # Without BPF, and where a sandbox hides what threads do, the cause may be another or none.
    self.note(f"{name}: cause, {cause} is right", [(finding.get("cause") or {}).get("class") for finding in right])


def check_killed(self, name, job, process):
    """SIGKILL when a rank has stopped calling and the other waits for it: the boxes tell what was in flight."""
    looks = []

    def stands():
        looks.append(flights.oldest_in_flight(job.dump()))
        return (looks[-1] and looks[-2:-1] == looks[-1:]) or process.popen.poll() is not None

    stage.wait_until(stands, part.left_s(60), step=0.5)
    if not self.check(process.popen.poll() is None and looks[-1], f"{name}: it runs, and a rank stands"):
        job.finish(process, 1)
        return
    job.kill_everything()
    status, report = job.ask("report", "--json")
    dump = job.dump()
    truth, named = flights.oldest_in_flight(dump), flights.reported(report)
    self.check(status == 0 and len(of(dump, "header")) == 2, f"{name}: two readable boxes after SIGKILL")
    self.check(truth and named == truth, f"{name}: report names what was in flight: {named}")
