#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A job on several hosts whose collectors publish through a real nats-server, and one that hears them all: each finding
is told once; who comes late, a server that is killed and comes again, a collector that is killed, letters that nobody
of us has written. The server comes from PATH, or is fetched from the distribution's package without being installed:
its service would listen to everybody."""

import contextlib
import functools
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

import stage
import unpacked

FETCHED = tempfile.TemporaryDirectory(prefix="rankwatch-test.")
SIZES = ("--steps=1000000", "--step-ms=80", "--elements=1024", "--limit=240")


@functools.cache
def server_program():
    """Fetched once for all servers of this test."""
    installed = shutil.which("nats-server", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/bin")
    if installed:
        return installed
    unpacked.unpack({"nats-server"}, FETCHED.name)
    return f"{FETCHED.name}/usr/sbin/nats-server"


class Server:
    """A nats-server on a port of its own. Again on the same one when it comes back: its clients know no other."""

    def __init__(self, directory, *options):
        self.program = server_program()
        self.directory = directory / "nats"
        self.directory.mkdir(mode=0o700)
        self.options = options
        self.port = -1
        self.popen = None
        self.start()

    def start(self):
        with (self.directory / "log").open("ab") as log:
            self.popen = subprocess.Popen([self.program, "-a", "127.0.0.1", "-p", str(self.port), "--ports_file_dir",
                                           str(self.directory), *self.options], stdout=log, stderr=log,
                                          stdin=subprocess.DEVNULL)
        found = stage.wait_until(self._ready, 60)
        if not found:
            raise SystemExit("FAILED nats-server does not start: " + (self.directory / "log").read_text())
        self.port = found

    def _ready(self):
        try:
            ports = json.loads((self.directory / f"nats-server_{self.popen.pid}.ports").read_text())
            port = int(ports["nats"][0].rsplit(":", 1)[1])
            socket.create_connection(("127.0.0.1", port), 1).close()
            return port
        except (OSError, ValueError, KeyError, IndexError):
            return None

    def url(self, user=""):
        return f"nats://{user}127.0.0.1:{self.port}"

    def kill(self):
        self.popen.kill()
        self.popen.wait()


def publish(server, subject, payload):
    """One letter, by the protocol itself (docs.nats.io/reference/reference-protocols/nats-protocol), as anybody can
    write it."""
    with socket.create_connection(("127.0.0.1", server.port), 10) as connection:
        connection.settimeout(10)
        connection.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\nPUB ' + subject.encode() + b" " +
                           str(len(payload)).encode() + b"\r\n" + payload + b"\r\nPING\r\n")
        answer = b""
        while b"PONG" not in answer:
            part = connection.recv(4096)
            if not part:
                break
            answer += part


CALLS, REASON = 5, 9  # RW_MESSAGE_CALLS, RW_MESSAGE_REASON
HEADER, MESSAGE = 192, 48  # bytes of a batch's header, and of a message


class Wire:
    """Hears all that is published, by the protocol itself."""

    def __init__(self, server):
        self.heard = []  # (subject, payload)
        self.at_s = []   # when, since the wire hears
        self.begin_s = time.monotonic()
        self.connection = socket.create_connection(("127.0.0.1", server.port), 10)
        self.connection.sendall(b'CONNECT {"verbose":false,"pedantic":false}\r\nSUB rankwatch.> 1\r\nPING\r\n')
        self.connection.settimeout(None)
        self.file = self.connection.makefile("rb")
        while self.file.readline() != b"PONG\r\n":
            pass
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while line := self.file.readline():
                if line.startswith(b"PING"):
                    self.connection.sendall(b"PONG\r\n")
                if line.startswith(b"MSG"):
                    words = line.split()
                    self.at_s.append(time.monotonic() - self.begin_s)
                    self.heard.append((words[1].decode(), self.file.read(int(words[-1]) + 2)[:-2]))
        except OSError:
            pass

    def subjects(self, topic):
        return {subject.rsplit(".", 1)[1] for subject, _ in self.heard if f".{topic}." in subject}

    def types(self, host):
        return {payload[at] for subject, payload in self.heard if subject.endswith(f".messages.{host}")
                for at in range(HEADER, len(payload), MESSAGE)}


def hashes_on(wire):
    """Which hashes of calls each host has sent, and when, and whether batches of it were lost: why hosts' calls could
    not be compared."""
    lines, last = [], {}
    for at_s, (subject, payload) in zip(wire.at_s, list(wire.heard)):
        host = subject.rsplit(".", 1)[1]
        if ".messages." not in subject or len(payload) < HEADER:
            continue
        number, = struct.unpack_from("<Q", payload, 16)
        lost, = struct.unpack_from("<Q", payload, 32)
        if number != last.get(host, number - 1) + 1:
            lines.append(f"{at_s:6.1f} s {host}: batch {number} behind batch {last[host]}")
        if lost:
            lines.append(f"{at_s:6.1f} s {host}: had no room for {lost} messages")
        last[host] = number
        for at in range(HEADER, len(payload), MESSAGE):
            kind, function, _, rank, comm, following, calls, value = struct.unpack_from("<BBHiQQQQ", payload, at)
            if kind == CALLS:
                what = f"calls until #{following} of function {function}" if function else "hash"
                lines.append(f"{at_s:6.1f} s {host}: rank {rank}, comm {comm:x}: {what}, of {calls} calls {value:016x}")
    return "\n".join([*lines, *(f"{host}: {number + 1} batches" for host, number in sorted(last.items()))])


class Job:
    """Ranks of `hosts` claimed hosts, each with a collector of its own that sees no other's boxes."""

    def __init__(self, play, server, hosts=2):
        self.play, self.server, self.hosts = play, server, hosts
        self.url = server.url()
        self.nodes = {}
        for host in range(hosts):
            self.start_node(host)

    def start_node(self, host, *more):
        directory = self.play.boxes / f"host-{host}"
        directory.mkdir(mode=0o700, exist_ok=True)
        self.nodes[host] = self.play.start(stage.RANKWATCH, "collect", "--host", f"host-{host}", "--dir", directory,
                                           *more,
                                           RANKWATCH_NATS=self.url, RANKWATCH_DIR=None)
        return self.nodes[host]

    def workload(self, ranks, *options):
        return stage.workload(f"--ranks={ranks}", f"--hosts={self.hosts}", f"--box-dirs={self.play.boxes}", *SIZES,
                              *options)

    def start_ranks(self, ranks, *options, **environment):
        self.ranks = self.play.start(*self.workload(ranks, *options), **self.play.plugin(), **environment)

    def end_ranks(self):
        self.ranks.popen.terminate()
        self.ranks.wait(60)

    def start_half(self, *more):
        return self.play.start(stage.RANKWATCH, "collect", "--all-nodes", "--nats", self.url, "--findings", "-", *more)


def said(process, text):
    return [line for _, line in process.err.lines if text in line]


def findings(process, **keys):
    found = [value for _, value in process.out.json()]
    return [value for value in found if all(value.get(key) == wanted for key, wanted in keys.items())]


def await_said(failures, process, text, what, count=1):
    return failures.check(stage.wait_until(lambda: len(said(process, text)) >= count, 90), f"{what}: \"{text}\"")


def end(process, failures, what):
    process.popen.send_signal(signal.SIGINT)
    failures.check(process.wait(30) == 0, f"{what} ends with status 0 at SIGINT")


def end_collectors(failures, job, half, untold=None):
    """The nodes' collectors, none of which has printed `untold`, and with them the reader, which was started with
    --until-idle."""
    for node in job.nodes.values():
        end(node, failures, "a node's collector")
        if untold:
            failures.check(untold not in node.out.text_now(), f"which no node could tell:{untold}")
    failures.check(half.wait(90) == 0, "the reader ends with them")


def show_if_failed(failures, *processes):
    if failures.count:
        print(*(process.err.text() for process in processes), sep="\n---\n")


@contextlib.contextmanager
def heard_job(failures, hosts=2):
    """A server, a job without ranks yet, and the reader that hears all its hosts and ends with them. What they wrote is
    printed at the end if something failed."""
    with stage.Stage() as play:
        server = Server(play.dir)
        try:
            job = Job(play, server, hosts)
            half = job.start_half("--until-idle")
            await_said(failures, half, f"hears {hosts} hosts", "all hosts are heard")
            yield job, half
            show_if_failed(failures, half, *job.nodes.values())
        finally:
            server.kill()


def findings_of_nodes(failures):
    with stage.Stage() as play:
        server = Server(play.dir)
        job = Job(play, server)
        half = job.start_half()
        await_said(failures, half, "hears 2 hosts", "both hosts are heard")
        job.start_ranks(4, "--fault=never", "--fault-rank=2", "--fault-step=6")
        await_said(failures, half, "hears 2 hosts with 4 ranks", "and their ranks")
        found = stage.wait_until(lambda: findings(half, kind="hang", ranks=[2]), 90)
        failures.check(found, "the hang that host-1 sees is told")
        failures.check(found and found[0]["state"] == "open" and found[0]["where"][0]["host"] == "host-1",
                       "as open, in the words of that host")

        listed = play.start(stage.RANKWATCH, "findings", "--json", "--job", play.dir.name)
        failures.check(listed.wait(30) == 0, "findings finds who hears all nodes")
        own = [value for _, value in listed.out.json() if value["kind"] == "hang"]
        failures.check([value["where"][0]["host"] for value in own] == ["host-1"],
                       f"and prints what is open there: {own}")

        shown_of_all(failures, play, half)

        late = job.start_half()
        await_said(failures, late, "this one stands by", "who comes late stands by")
        await_said(failures, late, "hears 2 hosts with 4 ranks", "and hears both hosts")
        opened = [value for value in findings(half, kind="hang", ranks=[2]) if value["state"] == "open"]
        failures.check(len(opened) == 1, f"it opened once, not each time that it was said again: {len(opened)}")
        failures.check(said(late, "no socket: ") and not said(half, "no socket: "),
                       "the second listener has no socket, and says so")
        end(half, failures, "the first listener")
        found = stage.wait_until(lambda: findings(late, kind="hang", ranks=[2]), 90)
        failures.check(found and found[0]["state"] == "open" and found[0]["id"] == opened[0]["id"],
                       "where the first one ends, the other tells what is open")

        host = pathlib.Path("/proc") / str(late.popen.pid)
        failures.check(server.url() not in (host / "cmdline").read_bytes().decode(),
                       "the address is not in the command line")
        damaged(failures, server, play, late)

        job.nodes[0].popen.kill()
        await_said(failures, late, "host host-0 is silent", "a collector that was killed is missed")
        job.start_node(0)
        await_said(failures, late, "started anew on host-0", "and heard when it is there again")

        end(job.nodes[1], failures, "a node's collector")
        await_said(failures, late, "ended in order on host-1", "who ends in order is not called silent")
        failures.check(not said(late, "host-1 is silent"), "nor later")
        job.nodes[0].popen.kill()
        job.nodes[0].wait(30)
        top = play.start(stage.RANKWATCH, "top", "--once", "--job", play.dir.name)
        failures.check(top.wait(30) == 0 and "all nodes" in top.out.text(),
                       f"top falls back to who hears all nodes: {top.out.text()}{top.err.text()}")
        end(late, failures, "the second listener")
        failures.check(said(late, "heard 2 hosts with 4 ranks"), "its summary says whom it heard")
        show_if_failed(failures, half, late, *job.nodes.values())
        server.kill()


def snapshot_of(play):
    top = play.start(stage.RANKWATCH, "top", "--all-nodes", "--json", "--job", play.dir.name)
    top.wait(30)
    shown = [value for _, value in top.out.json()]
    return shown[0] if shown else {}


def shown_of_all(failures, play, half):
    """What `top` and `ls` show of a job that stands: ranks 0, 1 and 3 wait, on two hosts, for rank 2."""
    def snapshot():
        return snapshot_of(play)

    def stands():
        doing = {row["rank"]: row["doing"] for row in snapshot().get("ranks", [])}
        return doing == {0: "waits", 1: "waits", 2: "missing", 3: "waits"}

    failures.check(stage.wait_until(stands, 60),
                   f"who waits and who is missing: {[(row['rank'], row['doing']) for row in snapshot()['ranks']]}")
    shown = snapshot()
    failures.check([(row["host"], row["state"], row["ranks"]) for row in shown["hosts"]] == [("host-0", "heard", 2),
                                                                                             ("host-1", "heard", 2)],
                   f"both hosts: {shown['hosts']}")
    failures.check({row["host"] for row in shown["ranks"] if row["rank"] < 2} == {"host-0"}, "whose ranks they are")
    failures.check(all("wait_ms" not in row and row["own_ms"] + row["inside_ms"] + row["unseen_ms"] > 0
                       for row in shown["ranks"]),
                   f"where their time went: {shown['ranks']}")
    failures.check(any(flight["missing"] == [2] for flight in shown["flights"]),
                   f"what is in flight: {shown['flights']}")
    failures.check(shown["watchdog"]["deadline_unix_ms"] > shown["unix_ms"], f"how long is left: {shown['watchdog']}")
    failures.check([value["ranks"] for value in shown["findings"] if value["kind"] == "hang"] == [[2]], "what is open")
    failures.check(shown["cells"]["columns"], "seconds to go back to")
    top = play.start(stage.RANKWATCH, "top", "--all-nodes", "--once", "--job", play.dir.name)
    top.wait(30)
    rows = top.out.text()
    failures.check(" HANG " in rows and "2, all are heard from" in rows, f"the first screen: {rows}")
    exposed = play.start(stage.RANKWATCH, "metrics", "--all-nodes", "--once", "--job", play.dir.name)
    exposed.wait(30)
    metrics = exposed.out.text()
    failures.check(any(line.startswith("rankwatch_incidents_open{") and 'kind="hang"' in line and 'rank="2"' in line
                       for line in metrics.splitlines()),
                   f"Prometheus gets what is open: {metrics}")
    for sample in ('rankwatch_job_hosts{job_id="%s",state="heard"} 2',
                   'rankwatch_rank_doing{job_id="%s",rank="2",doing="missing"} 1',
                   'rankwatch_rank_info{job_id="%s",rank="2",hostname="host-1",gpu="",UUID="",pci=""} 1',
                   'rankwatch_collector_info{job_id="%s",level="all-nodes"} 1'):
        failures.check(sample % play.dir.name in metrics.splitlines(), f"and {sample}: {metrics}")
    half.popen.send_signal(signal.SIGSTOP)
    patient = play.start(stage.RANKWATCH, "metrics", "--all-nodes", "--once", "--job", play.dir.name)
    time.sleep(1.5)  # more than the collector of a node would get
    half.popen.send_signal(signal.SIGCONT)
    patient.wait(30)
    failures.check('rankwatch_collector_up{job_id="%s"} 1' % play.dir.name in patient.out.text().splitlines(),
                   "a collector of all nodes may take more than a second")
    of_nodes = play.start(stage.RANKWATCH, "metrics", "--once", "--job", play.dir.name)
    of_nodes.wait(30)
    failures.check('level="all-nodes"' not in of_nodes.out.text() and "rankwatch_collector_up" in of_nodes.out.text(),
                   "the nodes' collectors are other targets")
    listed = play.start(stage.RANKWATCH, "ls", "--job", play.dir.name)
    listed.wait(30)
    failures.check("hears 2 hosts with 4 ranks" in listed.out.text(), f"ls lists who hears them: {listed.out.text()}")


def damaged(failures, server, play, half):
    """Letters that are none, and one that would write to the terminal."""
    prefix = f"rankwatch.v1.{play.dir.name}".replace(".", "%2E").replace("rankwatch%2Ev1%2E", "rankwatch.v1.")
    evil = {"schema": 1, "id": "dead-0", "state": "open", "severity": "critical", "kind": "hang", "ranks": [3],
            "text": "x\u001b[2Jy"}
    publish(server, f"{prefix}.findings.host-0", b"{")
    publish(server, f"{prefix}.findings.host-0", b"\xff" * 1000)
    publish(server, f"{prefix}.hosts.host-0", b'{"version":2}')
    publish(server, f"{prefix}.hosts.forged%1B%5B2J", b"[]")
    publish(server, f"{prefix}.messages.host-0", b"no batch")
    publish(server, f"{prefix}.gossip.host-0", b"")
    publish(server, f"{prefix}.findings.evil%1B", json.dumps(evil).encode())
    failures.check(stage.wait_until(lambda: findings(half, id="dead-0"), 60),
                   "all of them were read, and the last one is a finding")
    for what in ("a finding is no JSON object", "a sign of life has another version", "a batch of messages ",
                 "has a subject that is none of ours"):
        failures.check(len(said(half, what)) == 1, f"one line: {what}")
    failures.check("\x1b" not in half.err.text_now() + "".join(line for _, line in half.out.lines),
                   "nothing reaches the terminal as it is")


def judges_take_turns(failures):
    """Two judges: one tells, the other takes over where that one is stopped, or killed. A command is run once for what
    is found."""
    def is_open(judge):
        return [value for value in findings(judge, kind="hang", ranks=[1]) if value["state"] == "open"]

    def took_over(judge, what):
        began_s = time.monotonic()
        failures.check(stage.wait_until(lambda: said(judge, "this one is active now"), 60),
                       f"{what}: the other judge takes over")
        took_s = time.monotonic() - began_s
        failures.check(took_s < 10, f"within 10 s: {took_s:.1f} s")

    with stage.Stage() as play:
        server = Server(play.dir)
        job = Job(play, server)
        log = play.dir / "commands"
        command = f"cat >> {log}"
        first = job.start_half("--on-finding", command)
        await_said(failures, first, "hears 2 hosts", "the first hears all")
        second = job.start_half("--on-finding", command)
        await_said(failures, second, "this one stands by", "the second stands by")
        job.start_ranks(2, "--fault=never", "--fault-rank=1", "--fault-step=6")
        failures.check(stage.wait_until(lambda: is_open(first), 120), "the first tells who does not come")
        stage.wait_until(lambda: log.exists() and log.read_text(), 30)
        time.sleep(2)  # the next sign of life says what is open
        failures.check(not findings(second), f"the second tells nothing: {findings(second)}")
        first.popen.send_signal(signal.SIGSTOP)
        took_over(second, "stopped")
        failures.check(stage.wait_until(lambda: is_open(second), 30), "and tells what is open")
        failures.check(is_open(first) and is_open(second) and is_open(first)[0]["id"] == is_open(second)[0]["id"],
                       "under the same id")
        first.popen.send_signal(signal.SIGCONT)
        await_said(failures, second, "this one stands by", "when the first one goes on, the second stands by again", 2)
        first.popen.kill()
        failures.check(stage.wait_until(lambda: len(said(second, "this one is active now")) == 2, 10),
                       "killed: it takes over again")
        states = [value["state"] for judge in (first, second) for value in findings(judge, kind="hang", ranks=[1])]
        failures.check("closed" not in states, f"what is so stays open: {states}")
        ran = [json.loads(line) for line in log.read_text().splitlines()]
        failures.check([value["state"] for value in ran if value["kind"] == "hang"] == ["open"],
                       f"one command for one finding: {ran}")
        job.end_ranks()
        for process in (*job.nodes.values(), second):
            end(process, failures, "a collector")
        show_if_failed(failures, first, second)
        server.kill()


def told_before(failures):
    """A judge comes when another one has ended: from a server with JetStream it knows what that one told and is over,
    and what was open then is not news."""
    def say(number, state):
        finding = {"schema": 1, "id": f"beef-{number}", "state": state, "severity": "critical", "kind": "hang",
                   "ranks": [number], "text": "has not joined"}
        publish(server, f"rankwatch.v1.{job_name}.findings.host-{number}", json.dumps(finding).encode())

    def states(judge, number):
        return [value["state"] for value in findings(judge, id=f"beef-{number}")]

    for jetstream in (True, False):
        what = "with JetStream" if jetstream else "without"
        with stage.Stage() as play:
            server = Server(play.dir, *(("-js", "-sd", str(play.dir)) if jetstream else ()))
            job = Job(play, server, 0)
            job_name = play.dir.name.replace(".", "%2E")
            log = play.dir / "commands"
            command = ("--on-finding", f"cat >> {log}")
            first = job.start_half(*command)
            await_said(failures, first, "listens for the hosts", what)
            # What is published before it hears is lost.
            failures.check(stage.wait_until(lambda: say(1, "open") or states(first, 1), 60),
                           f"{what}: the first one tells what is open")
            say(2, "open")
            say(1, "closed")
            failures.check(stage.wait_until(lambda: states(first, 1)[-1:] == ["closed"] and states(first, 2), 60),
                           f"{what}: and what is over")
            end(first, failures, "the first one")
            second = job.start_half(*command)
            failures.check(stage.wait_until(lambda: say(2, "open") or states(second, 2), 60),
                           f"{what}: the second one tells what is open")
            failures.check(states(second, 1) == (["open", "closed"] if jetstream else []),
                           f"{what}: and of what is over: {states(second, 1)}")
            end(second, failures, "the second one")
            ran = [value["id"] for value in map(json.loads, log.read_text().splitlines()) if value["state"] == "open"]
            failures.check(sorted(ran) == ["beef-1", "beef-2"] + ([] if jetstream else ["beef-2"]),
                           f"{what}: commands for {ran}")
            show_if_failed(failures, first, second)
            server.kill()


def server_restarted(failures):
    with stage.Stage() as play:
        server = Server(play.dir)
        server.kill()
        job = Job(play, server)
        half = job.start_half("--until-idle")
        for process in (*job.nodes.values(), half):
            await_said(failures, process, "nobody answers there", "a server that is not there is one line")
        job.start_ranks(4, "--fault=never", "--fault-rank=2", "--fault-step=6")
        failures.check(stage.wait_until(lambda: said(job.nodes[1], "watching 2 ranks"), 90),
                       "the node watches without it")
        server.start()
        for process in (*job.nodes.values(), half):
            await_said(failures, process, "connected again", "and one when it is there")
        failures.check(stage.wait_until(lambda: findings(half, kind="hang", ranks=[2]), 90),
                       "what was found meanwhile is told")
        server.kill()
        await_said(failures, half, "the connection is lost", "killed beneath all: one line")
        server.start()
        await_said(failures, half, "connected again", "and another when it is back", 2)
        for number, node in job.nodes.items():
            await_said(failures, node, "connected again", f"node {number} too", 2)
        for process in (*job.nodes.values(), half):
            failures.check(len(said(process, "nobody answers there")) <= 2, "nothing is said again and again")
        job.end_ranks()
        for node in job.nodes.values():
            end(node, failures, "a node's collector")
        failures.check(half.wait(90) == 0, "with --until-idle the listener ends when all nodes have")
        show_if_failed(failures, half, *job.nodes.values())
        server.kill()


def cut_off(failures):
    """A reader that cannot hear: its server is gone and comes back, hangs, or it does not run itself. Rank 1 does not
    come, and the others wait. Each is the only one of its host."""
    def is_heard_again():
        rows = snapshot_of(play).get("hosts", [])
        return len(rows) == 3 and all(row["heard_unix_ms"] > now_ms for row in rows)

    with stage.Stage() as play:
        server = Server(play.dir)
        job = Job(play, server, 3)
        half = job.start_half()
        await_said(failures, half, "hears 3 hosts", "all hosts are heard")
        job.start_ranks(3, "--fault=never", "--fault-rank=1", "--fault-step=6")
        failures.check(stage.wait_until(lambda: findings(half, kind="hang", ranks=[1]), 120),
                       "who does not come is named")
        for what in ("killed", "stopped", "reader"):
            process = half.popen if what == "reader" else server.popen
            if what == "killed":
                server.kill()
            else:
                process.send_signal(signal.SIGSTOP)
            time.sleep(14)  # longer than any host may be silent
            if what == "killed":
                server.start()
            else:
                process.send_signal(signal.SIGCONT)
            now_ms = time.time() * 1000
            failures.check(stage.wait_until(is_heard_again, 60), f"{what}: all hosts are heard again")
        failures.check(said(half, "did not run for 1"), "the reader says that it was held up")
        failures.check(not said(half, " silent: "), f"no host is called silent: {said(half, ' silent: ')}")
        accused = [value["text"] for value in findings(half) if value["kind"] != "hang" or value["ranks"] != [1]]
        failures.check(not accused, f"nor gone: {accused}")
        states = [value["state"] for value in findings(half, kind="hang")]
        failures.check(states.count("open") == 1 and "closed" not in states, f"what is so stays open: {states}")
        job.end_ranks()
        for process in (*job.nodes.values(), half):
            end(process, failures, "a collector")
        show_if_failed(failures, half, *job.nodes.values())
        server.kill()


def alone_of_its_host(failures):
    """Each host has one rank of the communicator: no node can name anybody, all together can."""
    with heard_job(failures) as (job, half):
        wire = Wire(job.server)
        job.start_ranks(2, "--fault=never", "--fault-rank=1", "--fault-step=6")
        found = stage.wait_until(lambda: findings(half, kind="hang", ranks=[1]), 120)
        failures.check(found and found[0]["where"][0]["host"] == "host-1",
                       f"the rank that does not come is named: {found}")
        failures.check(stage.wait_until(lambda: REASON in wire.types("host-1"), 30),
                       "its host is asked why, and answers")
        failures.check(wire.subjects("asks") == {"host-1"}, f"no other is asked: {wire.subjects('asks')}")
        failures.check(REASON not in wire.types("host-0"), "nor answers")
        job.end_ranks()
        end_collectors(failures, job, half, " HANG ")
        accused = [value["text"] for value in findings(half) if value.get("ranks") == [0] and
                   value["confidence"] != "inconclusive"]
        failures.check(not accused, f"the other rank is not accused: {accused}")


def other_call(failures):
    """A rank reduces another type than the others, once; nothing hangs. Each host sees one rank."""
    with heard_job(failures, 3) as (job, half):
        wire = Wire(job.server)
        job.start_ranks(3, "--fault=type", "--fault-rank=1", "--fault-step=6")
        found = stage.wait_until(lambda: findings(half, kind="desync"), 120)
        failures.check(found and found[0]["ranks"] == [1] and found[0]["confidence"] == "likely",
                       f"who called something else: {found}")
        # On a busy machine the answers come after the finding, whose next revision has them.
        called = stage.wait_until(lambda: [one for one in findings(half, kind="desync")
                                           if one["operation"]["function"]], 60)
        failures.check(called and called[0]["id"] == found[0]["id"] and "rank 1 calls " in called[0]["text"] and
                       " where ranks 0,2 call " in called[0]["text"],
                       f"and what, by the answers of two hosts: {findings(half, kind='desync')}")
        job.end_ranks()
        end_collectors(failures, job, half, " DESYNC ")
        if failures.count:
            print(hashes_on(wire), "---", sep="\n")


def slow_link(failures):
    """The link between two hosts becomes slow: to each it looks as if a rank of the other came late, all together know
    better."""
    with heard_job(failures) as (job, half):
        job.ranks = job.play.start(*stage.under("slow-link", *job.workload(
            4, "--elements=50000", "--step-ms=120", "--limit=200", "--fault=link", "--fault-step=40")),
            **job.play.plugin())
        stage.wait_until(lambda: findings(half, kind="slowdown", severity="warning") or
                         job.ranks.popen.poll() is not None, 120)
        if job.ranks.popen.poll() == 77:
            print("SKIP a slow link between two hosts: " + job.ranks.err.text())
        else:
            told = findings(half, kind="slowdown", severity="warning")
            failures.check(told and told[0]["ranks"] == [0, 1, 2, 3] and told[0]["scope"] == "job",
                           f"operations are slower, of all: {told}")
            accused = [value["text"] for value in findings(half, kind="straggler")
                       if value["confidence"] != "inconclusive"]
            failures.check(not accused, f"nobody is accused: {accused}")
        job.end_ranks()
        end_collectors(failures, job, half)


def wait_in_circles(failures):
    """Each host sees one rank, which waits, and cannot say for whom: the ranks wait for each other."""
    program = sys.argv[1]
    for what, hosts, text in (("opposite", 2, "ranks 0,1 wait for each other: rank 0 in AllReduce #"),
                              ("sends", 2, "ranks 0,1 wait for each other: rank 0 in Send #"),
                              ("sends", 3, "ranks 0-2 wait for each other: rank 0 in Send #")):
        with heard_job(failures, hosts) as (job, half):
            ranks = job.play.start(program, hosts, what, job.play.boxes, **job.play.plugin())
            found = stage.wait_until(lambda: findings(half, kind="hang"), 60)
            failures.check(found and found[0]["ranks"] == [] and found[0]["confidence"] == "inconclusive" and
                           text in found[0]["text"] and
                           found[0]["late"]["waiting"] == list(range(hosts)), f"{what}, {hosts} hosts: {found}")
            failures.check(ranks.popen.poll() is None, "and they wait still")
            os.killpg(ranks.popen.pid, signal.SIGKILL)
            ranks.wait(30)
            end_collectors(failures, job, half, " HANG ")
            accused = [value["text"] for value in findings(half)
                       if value["ranks"] and value["confidence"] != "inconclusive" and value["severity"] != "notice" and
                       value["kind"] != "gone"]
            failures.check(not accused, f"nobody is accused: {accused}")
            if failures.count:
                print(half.out.text(), ranks.err.text(), "", sep="\n---\n")


def whose_bits(failures):
    """One bit of one AllReduce's result is another one on rank 1. Each host sees one rank, and has nothing to compare
    it with."""
    with heard_job(failures, 3) as (job, half):
        job.start_ranks(3, "--mesh=ddp=3", "--step-ms=60", "--elements=16384", RANKWATCH_SCAN="all",
                        SIM_NCCL_FLIP="received:1:AllReduce:37:1001:3")
        found = stage.wait_until(lambda: findings(half, kind="corruption"), 150)
        failures.check(found and found[0]["ranks"] == [1] and found[0]["confidence"] == "likely",
                       f"whose bits differ: {found}")
        failures.check(found and "AllReduce #0 to #255" in found[0]["text"], f"among which operations: {found}")
        job.end_ranks()
        end_collectors(failures, job, half, " CORRUPTION ")
        failures.check(len(findings(half, kind="corruption")) == 1, "it is told once")


def whose_nan(failures):
    """Rank 2 of host-1 makes a NaN; the ranks of host-0 only receive it."""
    with heard_job(failures) as (job, half):
        job.start_ranks(4, "--step-ms=150", "--elements=16384", "--fault=nan", "--fault-rank=2", "--fault-index=700",
                        RANKWATCH_SCAN="all")
        found = stage.wait_until(lambda: findings(half, kind="nan"), 120)
        failures.check(found and found[0]["ranks"] == [2] and found[0]["values"]["origin"] == "born",
                       f"who made it: {found}")
        echo = stage.wait_until(lambda: "in the result of" in job.nodes[0].out.text_now(), 60)
        failures.check(echo, "the host of those who received it says what it sees")
        failures.check("ranks that are seen here were clean" in job.nodes[0].out.text_now(),
                       "and that it came from elsewhere")
        wire = Wire(job.server)
        failures.check(stage.wait_until(lambda: "host-0" in wire.subjects("findings"), 60), "and says it again")
        job.end_ranks()
        end_collectors(failures, job, half)
        others = [value for value in findings(half, kind="nan") if value["ranks"] != [2]]
        failures.check(not others, f"it is told once, of the rank that made it: {others}")


def part_of_a_nan(failures):
    """The plugin by itself does not see inputs that an in-place AllReduce overwrites: each host sees that one of its
    ranks may have made it."""
    with heard_job(failures) as (job, half):
        job.start_ranks(4, "--mesh=ddp=4", "--step-ms=150", "--elements=16384", "--fault=nan", "--fault-rank=2",
                        "--fault-index=700", RANKWATCH_SCAN="all")
        found = stage.wait_until(lambda: findings(half, kind="nan", ranks=[0, 1, 2, 3]), 120)
        failures.check(found and found[-1]["confidence"] == "inconclusive" and
                       "made by one of ranks 0-3" in found[-1]["text"] and
                       "none of these hosts" not in found[-1]["text"], f"both hosts' parts are one finding: {found}")
        saw = [piece["what"] for piece in found[-1]["evidence"] if piece["source"] == "messages"] if found else []
        failures.check(saw == ["host host-0 saw it on ranks 0,1", "host host-1 saw it on ranks 2,3"],
                       f"who saw it where: {saw}")
        time.sleep(5)  # two signs of life of each host
        job.end_ranks()
        end_collectors(failures, job, half)
        for node in job.nodes.values():
            failures.check("in the result of" in node.out.text_now(), "it told its part")
        told = [(value["state"], value["id"]) for value in findings(half, kind="nan")]
        failures.check([state for state, _ in told].count("open") == 1 and len({name for _, name in told}) == 1,
                       f"it is told once: {told}")


def nan_in_a_mesh(failures):
    """Each host sees one rank, and meets the NaN first in another operation: of a communicator of which another rank
    had it before, but for rank 1."""
    with heard_job(failures, 4) as (job, half):
        job.start_ranks(4, "--mesh=fsdp=2,tp=2", "--step-ms=150", "--elements=16384", "--fault=nan", "--fault-rank=1",
                        "--fault-index=700", RANKWATCH_SCAN="all")
        failures.check(stage.wait_until(lambda: findings(half, kind="nan"), 120), "it is told")
        wire = Wire(job.server)
        failures.check(stage.wait_until(lambda: len(wire.subjects("findings")) >= 2, 60),
                       "several hosts say again what they see")
        job.end_ranks()
        end_collectors(failures, job, half)
        told = {(value["id"], tuple(value["ranks"])) for value in findings(half, kind="nan")}
        failures.check([ranks for _, ranks in told] == [(1,)], f"one NaN is one finding, and rank 1's: {told}")


def refused(failures):
    """A password that is wrong, one that is right, and a command line that is."""
    with stage.Stage() as play:
        server = Server(play.dir, "--user", "job", "--pass", "se-cret")
        node = play.start(stage.RANKWATCH, "collect", "--nats", server.url("job:wr-ong@"))
        await_said(failures, node, "refuses the user, the password", "a wrong password is one line")
        failures.check("wr-ong" not in (pathlib.Path("/proc") / str(node.popen.pid) / "cmdline").read_text(),
                       "not in the command line")
        end(node, failures, "the node's collector")
        failures.check("wr-ong" not in node.err.text() and "se-cret" not in node.err.text(), "no password is printed")
        node = play.start(stage.RANKWATCH, "collect", NATS_USER="job", NATS_PASSWORD="se-cret",
                          RANKWATCH_NATS=server.url())
        await_said(failures, node, f"{server.url()}: connected", "the right one, from the environment")
        end(node, failures, "the node's collector")
        doctor = play.start(stage.RANKWATCH, "doctor", "--json", RANKWATCH_NATS=server.url("job:se-cret@"))
        doctor.wait(60)
        line = [value for _, value in doctor.out.json() if value.get("check") == "nats"]
        failures.check(line and line[0]["verdict"] == "ok" and "se-cret" not in line[0]["text"], f"doctor: {line}")
        for arguments in (["--all-nodes"], ["--all-nodes", "--nats", "http://h"],
                          ["--all-nodes", "--nats", server.url(), "--dir", "/tmp"]):
            wrong = play.start(stage.RANKWATCH, "collect", *arguments)
            failures.check(wrong.wait(30) == 2, f"misuse: {arguments[1:]}")
        server.kill()


PERMISSIONS = """authorization { users = [
  { user: node7, password: "p7", permissions: { publish: "rankwatch.v1.*.*.node7", subscribe: "rankwatch.v1.>" } }
  { user: reader, password: "pr", permissions: { subscribe: "rankwatch.v1.>" } } ] }
"""


def permitted(failures):
    """A server that lets each user speak for one host, as docs/operating.md has it."""
    with stage.Stage() as play:
        configuration = play.dir / "nats.conf"
        configuration.write_text(PERMISSIONS)
        server = Server(play.dir, "-c", str(configuration))
        half = play.start(stage.RANKWATCH, "collect", "--all-nodes", "--nats", server.url("reader:pr@"))
        url = server.url("node7:p7@")
        own = play.start(stage.RANKWATCH, "collect", "--host", "node7", RANKWATCH_NATS=url)
        other = play.start(stage.RANKWATCH, "collect", "--host", "node8", RANKWATCH_NATS=url)
        await_said(failures, half, "new: node7", "its own host is heard")
        await_said(failures, other, "it refuses: Permissions Violation", "who speaks for another is refused, in a line")
        log = server.directory / "log"
        failures.check(stage.wait_until(lambda: log.read_text().count("Publish Violation") >= 5, 60), "again and again")
        failures.check(len(said(other, "it refuses")) == 1, "and hears of it once")
        for process in (own, other, half):
            end(process, failures, "a collector")
        failures.check("node8" not in half.err.text(), "the other is not heard")
        server.kill()


def run_publishes(failures):
    """`rankwatch run` hands the address to its collector, and not on the command line."""
    with stage.Stage() as play:
        server = Server(play.dir)
        half = play.start(stage.RANKWATCH, "collect", "--all-nodes", "--nats", server.url(), "--until-idle")
        await_said(failures, half, "connected", "the listener is there")
        run = play.start(stage.RANKWATCH, "run", "--nats", server.url(), "--", *stage.workload(
            "--ranks=2", "--steps=60", "--step-ms=80", "--elements=1024"))
        await_said(failures, half, "with 2 ranks", "the collector of run is heard")
        failures.check(run.wait(90) == 0, "the job ended")
        failures.check(half.wait(60) == 0, "so does the listener")
        failures.check(said(half, "ended in order"), "the collector of run took leave")
        server.kill()


# Each a test of its own: they wait, most of the time.
PARTS = {
    "findings": (findings_of_nodes, wait_in_circles, refused, permitted, run_publishes),
    "outages": (told_before, judges_take_turns, server_restarted, cut_off),
    "ranks": (alone_of_its_host, slow_link, other_call, whose_bits, whose_nan, part_of_a_nan, nan_in_a_mesh),
}


def main():
    failures = stage.Failures()
    started = time.monotonic()
    for part in PARTS[sys.argv[2]]:
        part(failures)
        print(f"{part.__name__}: {time.monotonic() - started:.0f} s since the start", flush=True)
    failures.end()


if __name__ == "__main__":
    main()
