# SPDX-License-Identifier: MIT
"""Files that `rankwatch run` and its collector are told to write or read and that never answer: a FIFO without a
reader, a file system whose server is silent. The job starts, runs and ends at its own pace with its own status, and
what was not written is said."""

import ctypes
import os
import select
import signal
import struct
import threading
import time

import kept_boxes
import stage

# nothing of ours may take so long; the job takes some 10 s, long enough for a collector to start on a busy machine
LONG_S = 60
FUSE_INIT, FUSE_FORGET, FUSE_BATCH_FORGET = 26, 2, 42


class SilentFileSystem:
    """Mounted, says hello, reads every request and answers none of them: who asks waits, and not even a signal
    helps."""

    def __init__(self, where):
        self.where = where
        where.mkdir()
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"silent", bytes(where), b"fuse", 0, options):
            stage.skip(f"no FUSE file system can be mounted here: {os.strerror(ctypes.get_errno())}")
        self.asked = 0
        self.ended = False
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def listen(self):
        while not self.ended:
            ready, _, _ = select.select([self.device], [], [], 0.1)
            if not ready:
                continue
            try:
                request = os.read(self.device, 1 << 20)
            except OSError:
                return
            _, opcode, unique = struct.unpack_from("<IIQ", request)
            if opcode == FUSE_INIT:
                body = struct.pack("<IIIIHHIIHHI", 7, 31, 0, 0, 12, 10, 1 << 17, 1, 32, 0, 0) + bytes(24)
                os.write(self.device, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)
            elif opcode not in (FUSE_FORGET, FUSE_BATCH_FORGET):
                self.asked += 1

    def close(self):
        """Ends the connection: whoever waits gets an error."""
        self.ended = True
        self.thread.join()
        os.close(self.device)
        ctypes.CDLL(None).umount2(bytes(self.where), 2)


class HealthyJob:
    """A short one, of a name of its own."""

    def __init__(self, play, name, *options, **environment):
        self.name, self.began, self.events = name, time.monotonic(), play.dir / f"{name} events"
        self.events.touch()
        self.job = play.start(stage.RANKWATCH, "run", "--job", f"{play.dir.name} {name}", *options, "--", "sh", "-c",
                              '"$@"; exit 5', "sh",
                              *stage.workload("--ranks=2", "--steps=300", "--step-ms=20", "--elements=1024"),
                              WORKLOAD_EVENTS=str(self.events), **environment)

    def ends(self, failures):
        """What was said on stderr."""
        started = stage.wait_until(lambda: self.events.read_text().count('"start"') == 2, LONG_S)
        failures.check(started, f"{self.name}: the job starts")
        status = self.job.wait(LONG_S)
        took = time.monotonic() - self.began
        failures.check(status == 5, f"{self.name}: the exit status is the job's: {status}")
        failures.check(took < LONG_S, f"{self.name}: the job ends at its own pace: {took:.1f} s")
        return self.job.err.text()


def stopped_rank(failures, play, name, *options):
    """With a finding; returns the job, which ends when it may (let_end()), and its ranks."""
    job = play.start(stage.RANKWATCH, "run", *options, "--", "sh", "-c",
                     f'"$@"; until [ -e {play.dir}/end ]; do sleep 0.1; done; exit 5', "sh", *stage.workload(
        "--ranks=2", "--steps=1000", "--step-ms=20", "--elements=1024", "--fault=stop", "--fault-rank=1",
        "--fault-step=40"))
    failures.check(stage.wait_until(lambda: len(play.events("start")) == 2, LONG_S), f"{name}: the job starts")
    ranks = play.rank_pids()
    failures.check(kept_boxes.has_finding(job), f"{name}: something is found")
    return job, ranks


def let_end(play, ranks):
    (play.dir / "end").touch()
    for pid in ranks.values():
        stage.kill(pid)


def fifo_without_reader(failures):
    with stage.Stage() as play:
        fifo = play.dir / "findings"
        os.mkfifo(fifo)
        job, ranks = stopped_rank(failures, play, "FIFO that nobody reads", "--findings", fifo)
        let_end(play, ranks)
        failures.check(job.wait(LONG_S) == 5, "FIFO that nobody reads: the exit status is the job's")
        said = job.err.text()
        failures.check("a FIFO that nobody reads: findings wait" in said
                       and "not written there: nobody read it" in said,
                       f"FIFO that nobody reads: it is said, and what was lost: {said}")


def fifo_with_late_reader(failures):
    with stage.Stage() as play:
        fifo = play.dir / "findings"
        os.mkfifo(fifo)
        job, ranks = stopped_rank(failures, play, "FIFO with a late reader", "--findings", fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        got = stage.wait_until(lambda: select.select([reader], [], [], 0)[0] and os.read(reader, 1 << 16),
                               LONG_S) or b""
        os.close(reader)
        failures.check(b'"severity":"critical"' in got,
                       f"FIFO with a late reader: what was found before comes: {got[:80]}")
        let_end(play, ranks)
        job.wait(LONG_S)


def silent_file_system(failures):
    if not stage.ROOT:
        print("skipped: mounting needs root")
        return
    with stage.Stage() as play:
        silent = SilentFileSystem(play.dir / "silent")
        try:
            job, ranks = stopped_rank(failures, play, "silent file system", "--findings", silent.where / "findings")
            failures.check(silent.asked, "silent file system: it has been asked")
            stage.wait_until(lambda: any("does not answer" in line for _, line in list(job.err.lines)), LONG_S)
            let_end(play, ranks)
            failures.check(job.wait(LONG_S) == 5, "silent file system: the exit status is the job's")
            said = job.err.text()
            failures.check("does not answer: findings wait" in said and "not written there: it did not answer" in said,
                           f"silent file system: it is said: {said}")
            log = HealthyJob(play, "silent kernel log", "--kernel-log", silent.where / "log")
            store = HealthyJob(play, "silent store", "--save", silent.where / "kept")
            home = HealthyJob(play, "silent home", HOME=str(silent.where / "home"))
            said = log.ends(failures)
            failures.check("2 of 2 ranks" in said, f"silent kernel log: the job was watched: {said}")
            said = store.ends(failures)
            failures.check("not saved" in said and "does not answer" in said, f"silent store: it is said: {said}")
            said = home.ends(failures)
            failures.check(".nccl.conf) does not answer" in said, f"silent home: it is said: {said}")
        finally:
            silent.close()


def answers(play, name):
    """A collector whose event loop goes on lists what it has found."""
    return play.start(stage.RANKWATCH, "findings", "--job", name).wait(LONG_S) == 0


def has_said(process, words):
    return [line for _, line in list(process.err.lines) if words in line]


def silent_directory(failures):
    """Of black boxes: the collector goes on with the other directories, and looks into this one when it can be read."""
    if not stage.ROOT:
        return
    with stage.Stage() as play:
        silent = SilentFileSystem(play.dir / "silent")
        boxes = silent.where / "boxes"
        names = [f"{play.dir.name}-option", f"{play.dir.name}-variable"]
        collectors = [play.start(stage.RANKWATCH, "collect", "--job", names[0], "--dir", boxes, RANKWATCH_DIR=None),
                      play.start(stage.RANKWATCH, "collect", "--job", names[1], RANKWATCH_DIR=str(boxes))]
        try:
            for name, collector in zip(names, collectors):
                failures.check(stage.wait_until(lambda: has_said(collector, "does not answer"), LONG_S),
                               f"a silent directory is said: {collector.err.text_now()}")
                failures.check(stage.wait_until(lambda: answers(play, name), LONG_S), f"{name}: the collector answers")
            ranks = play.start(*stage.workload("--ranks=2", "--steps=1000", "--step-ms=20", "--elements=1024"),
                               **play.plugin(),
                               RANKWATCH_DIR=None, RANKWATCH_JOB=names[0])
            failures.check(stage.wait_until(lambda: has_said(collectors[0], "watching 2 ranks"), LONG_S),
                           f"ranks that record elsewhere are watched: {collectors[0].err.text_now()} "
                           f"{ranks.err.text_now()}")
            joined = play.start(stage.RANKWATCH, "run", "--job", names[0], "--", "true")
            failures.check(joined.wait(LONG_S) == 0,
                           f"a launcher compares no name with it for ever: {joined.err.text_now()}")
            for collector in collectors:
                failures.check(len(has_said(collector, "does not answer")) == 1,
                               f"it is said once: {collector.err.text_now()}")
        finally:
            silent.close()
        for collector in collectors:
            failures.check(stage.wait_until(lambda: has_said(collector, "answers again"), LONG_S),
                           f"it is looked into when it can be: {collector.err.text_now()}")
            stage.kill(collector.popen.pid, signal.SIGTERM)
            failures.check(collector.wait(LONG_S) == 0,
                           f"the collector ends when it is told to: {collector.err.text_now()}")


def stopped_collector(failures):
    with stage.Stage() as play:
        collector = play.start(stage.RANKWATCH, "collect")
        answered = stage.wait_until(lambda: play.start(stage.RANKWATCH, "findings", "--job",
                                                       play.dir.name).wait(LONG_S) == 0, LONG_S)
        failures.check(answered, "a running collector answers")
        stage.kill(collector.popen.pid, signal.SIGSTOP)
        for arguments in ((), ("--follow",)):
            asked = play.start(stage.RANKWATCH, "findings", "--job", play.dir.name, *arguments)
            status = asked.wait(LONG_S)
            right = status == 1 and f"(process {collector.popen.pid}) does not answer" in asked.err.text()
            failures.check(right, f"a stopped collector is not waited for {arguments}: {status} {asked.err.text()}")


def main():
    failures = stage.Failures()
    stopped_collector(failures)
    fifo_without_reader(failures)
    fifo_with_late_reader(failures)
    silent_file_system(failures)
    silent_directory(failures)
    failures.end()


if __name__ == "__main__":
    main()
