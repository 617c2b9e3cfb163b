# SPDX-License-Identifier: MIT
"""Findings as docs/findings.md describes them (schema 1). What is not known is None; keys that are not known here are
left out, and are in Finding.raw."""
from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Union

from rankwatch._command import CommandError, command_path, run_command


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _make(kind: Any, value: Any) -> Any:
    """An object of JSON as this dataclass. A field may be `of` a dataclass, a list of `each`, `read` by a function, or
    in JSON `key`."""
    if not isinstance(value, Mapping):
        return None
    known: Dict[str, Any] = {}
    for one in fields(kind):
        part = value.get(one.metadata.get("key", one.name))
        if part is None:
            continue
        if "of" in one.metadata:
            part = _make(one.metadata["of"], part)
        elif "each" in one.metadata:
            part = [_make(one.metadata["each"], element) for element in part]
        elif "read" in one.metadata:
            part = one.metadata["read"](part)
        known[one.name] = part
    return kind(**known)


def _of(kind: Any) -> Any:
    return field(default=None, metadata={"of": kind})


def _each(kind: Any) -> Any:
    return field(default_factory=list, metadata={"each": kind})


def _at() -> Any:
    return field(default=None, metadata={"read": _time})


@dataclass(frozen=True)
class Job:
    """The job: its id, the generation of its processes (restarts), world ranks seen and in all."""
    id: Optional[str] = None
    generation: Optional[int] = None
    ranks_seen: Optional[int] = None
    ranks_total: Optional[int] = None


@dataclass(frozen=True)
class Place:
    """Where a rank runs. pid None: it has no process here. gpu, pci: the GPU and its address. rank_from: the variable
    that gave the rank."""
    rank: Optional[int] = None
    host: Optional[str] = None
    pid: Optional[int] = None
    gpu: Optional[str] = None
    pci: Optional[str] = None
    rank_from: Optional[str] = None


@dataclass(frozen=True)
class Operation:
    """The call in question. sequence: counted from 0 on this communicator and function. count: elements of dtype.
    phase: how far it is."""
    comm: Optional[str] = None
    comm_name: Optional[str] = None
    comm_size: Optional[int] = None
    function: Optional[str] = None
    sequence: Optional[int] = None
    replay: Optional[int] = None
    step: Optional[int] = None
    dtype: Optional[str] = None
    count: Optional[int] = None
    algorithm: Optional[str] = None
    protocol: Optional[str] = None
    phase: Optional[str] = None


@dataclass(frozen=True)
class Late:
    """How late: milliseconds after the median of the others, lost milliseconds for each step, lost share of all time (0
    to 1)."""
    kind: Optional[str] = None
    by_ms: Optional[float] = None
    lost_ms_per_step: Optional[float] = None
    lost_share: Optional[float] = None
    since_step: Optional[int] = None
    waiting: List[int] = field(default_factory=list)
    over: bool = False
    until_step: Optional[int] = None
    one_in: Optional[float] = None
    longer_share: Optional[float] = None
    spread_out: bool = False
    at_least: bool = False


@dataclass(frozen=True)
class Cause:
    """What the rank's threads or its GPU were seen to do. class_: io, cpu, lock, memory, …; share: of the late time, 0
    to 1."""
    class_: Optional[str] = field(default=None, metadata={"key": "class"})
    share: Optional[float] = None
    text: Optional[str] = None
    syscall: Optional[str] = None
    fd: Optional[int] = None
    path: Optional[str] = None
    fs: Optional[str] = None
    device: Optional[str] = None
    rank: Optional[int] = None
    tid: Optional[int] = None
    thread: Optional[str] = None
    at_tid: Optional[int] = None
    at_thread: Optional[str] = None
    chain: List[Dict[str, Any]] = field(default_factory=list)
    stack: List[str] = field(default_factory=list)
    turns: Optional[Dict[str, Any]] = None
    python: Optional[Dict[str, Any]] = None


@dataclass(frozen=True)
class Watchdog:
    """The framework's timer, in milliseconds. left_ms None: the job has ended."""
    timeout_ms: Optional[int] = None
    from_: Optional[str] = field(default=None, metadata={"key": "from"})
    left_ms: Optional[int] = None
    longest_wait_ms: Optional[int] = None
    reached: Optional[Dict[str, Any]] = None


@dataclass(frozen=True)
class Values:
    """What was in the buffer: how many nan and inf, the first bad element, the largest magnitude before, where it came
    from."""
    side: Optional[str] = None
    nan: Optional[int] = None
    inf: Optional[int] = None
    first_bad: Optional[int] = None
    absmax_before: Optional[float] = None
    saturated: Optional[int] = None
    origin: Optional[str] = None
    digest: Optional[str] = None
    not_scanned: Optional[int] = None
    seen: Optional[str] = None
    whole: Optional[bool] = None


@dataclass(frozen=True)
class Evidence:
    """Who saw it, for how many milliseconds of the late time, and what."""
    source: Optional[str] = None
    ms: Optional[float] = None
    what: Optional[str] = None


@dataclass(frozen=True)
class Link:
    """One event of an incident. follows: the position in the chain of the link that it follows from."""
    event: Optional[str] = None
    finding: Optional[str] = None
    kind: Optional[str] = None
    follows: Optional[int] = None
    confidence: Optional[str] = None
    time: Optional[datetime] = _at()
    text: Optional[str] = None


@dataclass(frozen=True)
class Incident:
    """What the finding belongs to, from where that began. The id is that of its first finding."""
    id: Optional[str] = None
    chain: List[Link] = _each(Link)


@dataclass(frozen=True)
class SeenLive:
    """Of a report: what a collector saw beyond the black boxes, by which sources, until when. in_boxes False: they do
    not show the finding."""
    by: List[str] = field(default_factory=list)
    until: Optional[datetime] = _at()
    in_boxes: Optional[bool] = None


@dataclass(frozen=True)
class Finding:
    """One fault. str() of it is the sentence for people.

    kind: straggler, hang, gone, desync, slowdown, nan, inf, overflow, saturation, corruption, drift, memory, gpu,
    version, blind, or one of a later release. state: open, update, closed. severity: notice, warning, critical.
    confidence: certain, likely, inconclusive. ranks, victims: world ranks. time, first_seen: UTC. detect_ms:
    milliseconds until it was found. missing: what was not observed. raw: the object as it came, with the keys that are
    not known here. """
    schema: int = 1
    id: str = ""
    state: str = ""
    revision: int = 0
    severity: str = ""
    confidence: str = ""
    kind: str = ""
    ranks: List[int] = field(default_factory=list)
    scope: Optional[str] = None
    standing: Optional[str] = None
    level: Optional[str] = None
    arrival: Optional[str] = None
    time: Optional[datetime] = _at()
    first_seen: Optional[datetime] = _at()
    detect_ms: Optional[int] = None
    job: Optional[Job] = _of(Job)
    where: List[Place] = _each(Place)
    operation: Optional[Operation] = _of(Operation)
    late: Optional[Late] = _of(Late)
    cause: Optional[Cause] = _of(Cause)
    watchdog: Optional[Watchdog] = _of(Watchdog)
    values: Optional[Values] = _of(Values)
    victims: List[int] = field(default_factory=list)
    evidence: List[Evidence] = _each(Evidence)
    incident: Optional[Incident] = _of(Incident)
    missing: List[str] = field(default_factory=list)
    lost: Optional[int] = None
    seen_live: Optional[SeenLive] = _of(SeenLive)
    text: str = ""
    advice: Optional[str] = None
    help: Optional[str] = None
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def from_json(cls, line: Union[str, bytes]) -> Finding:
        """One line of `rankwatch findings --json` or of a file of --findings. Raises ValueError for what is no
        finding."""
        value = json.loads(line)
        if not isinstance(value, dict) or "schema" not in value:
            raise ValueError("this is no finding of rankwatch")
        finding: Finding = _make(cls, value)
        object.__setattr__(finding, "raw", value)
        return finding


def read_findings(path: Union[str, Path]) -> Iterator[Finding]:
    """The findings in a file of `rankwatch run --findings FILE`, in the order of their lines. Raises OSError, and
    ValueError for other files."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            yield Finding.from_json(line)


def findings(job: Optional[str] = None, follow: bool = False) -> Iterator[Finding]:
    """What the collector of this user on this machine has found; of all nodes where `rankwatch collect --all-nodes`
    runs here.

    follow: False, those that are open now. True, each change (open, update, closed) until the collector ends; this
    waits, and close() of the iterator ends it. job: only the collector of this job. Findings of severity notice are
    left out. Raises CommandError where no collector runs or none answers. """
    arguments = ["findings", "--json"] + (["--job", job] if job is not None else [])
    if not follow:
        yield from map(Finding.from_json, run_command(*arguments).splitlines())
        return
    path = command_path()
    try:
        process = subprocess.Popen([path, *arguments, "--follow"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace")
    except OSError as error:
        raise CommandError(f"rankwatch: {path}: {error.strerror}") from error
    with process:
        try:
            assert process.stdout is not None and process.stderr is not None
            for line in process.stdout:
                yield Finding.from_json(line)
            said = process.stderr.read().strip().splitlines()
            if process.wait() != 0:
                raise CommandError((said or [f"{path} ended with status {process.returncode}"])[-1])
        finally:
            if process.poll() is None:
                process.terminate()
