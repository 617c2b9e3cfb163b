# SPDX-License-Identifier: MIT
"""A client of rankwatchd of another make than ours: written from docs/helper.md, so that it can also do what ours never
would."""

import os
import socket
import struct
import time

SOCKET = "/run/rankwatchd/socket"
HELLO, WATCH, UNWATCH, LOOK, ANSWER, RECORDS = 1, 2, 3, 4, 16, 17
NOW = 3  # enum in include/rankwatch/kernel_event.h
OTHER = 0xFFFFFFFF

REQUEST = struct.Struct("<IIiI")
REPLY = struct.Struct("<IIiiQ4QII160s")
HEAD = struct.Struct("<II4Q")
WAIT = struct.Struct("<5I2iI7Q2I2i2I16s16s32s16s")
WAIT_FIELDS = ("kind tgid tid waker_tid waker_tgid system_call fd device inode start_ns end_ns blocked_ns run_queue_ns "
               "longest_ns "
               "cpu_ns state io_wait stack_id exit_code count waker_uid thread waker file file_system").split()
FRAME = 40


def text(raw):
    return raw.split(b"\0", 1)[0].decode(errors="replace") if isinstance(raw, bytes) else raw


class Gone(Exception):
    """The helper has ended the connection."""


class Peer:
    def __init__(self, hello=True, path=SOCKET):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(10)
        self.socket.connect(path)
        self.number = 0
        self.records = []
        self.lost = None
        if hello:
            self.greeting = self.ask(HELLO)

    def close(self):
        self.socket.close()

    def send(self, kind, pid=0, fds=(), version=1):
        self.number += 1
        packet = REQUEST.pack(kind, self.number, pid, version)
        if fds:
            socket.send_fds(self.socket, [packet], list(fds))
        else:
            self.socket.send(packet)

    def receive(self):
        """One packet; the answer, None for records."""
        try:
            packet = self.socket.recv(1 << 16)
        except ConnectionResetError:
            packet = b""
        if not packet:
            raise Gone
        kind = struct.unpack_from("<I", packet)[0]
        if kind == ANSWER:
            fields = REPLY.unpack(packet)
            self.lost = fields[5:9]
            return {"number": fields[1], "error": fields[2], "pid": fields[3], "cost_ns": fields[4],
                    "version": fields[9],
                    "why": text(fields[11])}
        assert kind == RECORDS, kind
        self._take_records(packet)
        return None

    def _take_records(self, packet):
        _, count, *self.lost = HEAD.unpack_from(packet)
        at = HEAD.size
        for _ in range(count):
            record = dict(zip(WAIT_FIELDS, map(text, WAIT.unpack_from(packet, at))))
            at += WAIT.size
            frames = max(record["stack_id"], 0)
            record["stack"] = [text(packet[at + i * FRAME:at + (i + 1) * FRAME]) for i in range(frames)]
            at += frames * FRAME
            self.records.append(record)
        assert at == len(packet), (at, len(packet))

    def ask(self, kind, pid=0, fds=(), version=1):
        self.send(kind, pid, fds, version)
        while True:
            answer = self.receive()
            if answer and answer["number"] == self.number:
                return answer

    def watch(self, pid):
        fd = os.pidfd_open(pid)
        try:
            return self.ask(WATCH, fds=[fd])
        finally:
            os.close(fd)

    def listen(self, seconds, until=None):
        """Takes what comes; returns when `until` holds of a record, or the time is over."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.socket.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                self.receive()
            except TimeoutError:
                break
            finally:
                self.socket.settimeout(10)
            if until and any(until(record) for record in self.records):
                return True
        return False
