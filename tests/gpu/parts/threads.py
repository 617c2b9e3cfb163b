# SPDX-License-Identifier: MIT
"""What a process's threads do, looked at from outside again and again: state, system call, what it waits for, CPU."""

import collections
import os
import pathlib
import re
import struct
import time

# x86-64
CALLS = {0: "read", 1: "write", 7: "poll", 16: "ioctl", 23: "select", 24: "sched_yield", 34: "pause", 35: "nanosleep",
         45: "recvfrom", 47: "recvmsg", 61: "wait4", 202: "futex", 230: "clock_nanosleep", 232: "epoll_wait",
         270: "pselect6", 271: "ppoll", 281: "epoll_pwait", 441: "epoll_pwait2"}
DESCRIPTOR_FIRST = {"read", "write", "ioctl", "recvfrom", "recvmsg", "epoll_wait", "epoll_pwait"}
TICKS = os.sysconf("SC_CLK_TCK")


def text(path):
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def opened(process, descriptor):
    """A name that is the same in each run: no numbers of sockets and pipes."""
    try:
        name = re.sub(r":\[\d+\]", "", os.readlink(process / "fd" / str(descriptor)))
        # The stand-in's device lies in a directory of its own.
        return re.sub(r"^.*(/dev/nvidia[\w-]*).*$", r"\1", name)
    except OSError:
        return None


def polled(process, address, count):
    """What the descriptors of a poll(2) are, from the memory of who waits."""
    try:
        with open(process / "mem", "rb") as memory:
            memory.seek(address)
            found = [struct.unpack_from("i", memory.read(8))[0] for _ in range(min(count, 16))]
    except (OSError, struct.error, OverflowError):
        return None
    return ",".join(sorted({opened(process, descriptor) or "?" for descriptor in found}))


def call_of(process, thread):
    """(system call, what it is about); running: in none."""
    words = text(thread / "syscall").split()
    if not words:
        return "not known", None
    if words[0] in ("running", "-1"):
        return "running" if words[0] == "running" else "none", None
    name = CALLS.get(int(words[0]), f"call {words[0]}")
    if name in ("poll", "ppoll"):
        return name, polled(process, int(words[1], 16), int(words[2], 16))
    return name, opened(process, int(words[1], 16)) if name in DESCRIPTOR_FIRST else None


def look(process, thread):
    stat = text(thread / "stat").rpartition(")")[2].split()
    if not stat:
        return None
    call, about = call_of(process, thread)
    switches = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", text(thread / "status"), re.M)
    return {"state": stat[0], "call": call, "about": about, "wchan": text(thread / "wchan").strip().removeprefix("0")
            or None,
            "cpu_s": (int(stat[11]) + int(stat[12])) / TICKS, "switches": int(switches.group(1)) if switches else 0}


def watch(pid, seconds, looks=25):
    """[{thread, name, state, call, about, wchan, share, cpu, switches_per_s}], the main thread first. state, call,
    about and wchan are what was seen most often, in this share of the looks; cpu: of one core."""
    process = pathlib.Path(f"/proc/{pid}")
    seen, begin = collections.defaultdict(list), time.monotonic()
    for _ in range(looks):
        for thread in process.glob("task/*"):
            found = look(process, thread)
            if found:
                seen[int(thread.name)].append(found)
        time.sleep(seconds / looks)
    took_s, threads = time.monotonic() - begin, []
    for tid, found in sorted(seen.items(), key=lambda item: (item[0] != pid, item[0])):
        most, count = collections.Counter((one["state"], one["call"], one["about"], one["wchan"])
                                          for one in found).most_common(1)[0]
        threads.append({"thread": "main" if tid == pid else "other", "name": text(process / f"task/{tid}/comm").strip(),
                        **dict(zip(("state", "call", "about", "wchan"), most)), "share": round(count / len(found), 2),
                        "cpu": round((found[-1]["cpu_s"] - found[0]["cpu_s"]) / took_s, 2),
                        "switches_per_s": round((found[-1]["switches"] - found[0]["switches"]) / took_s)})
    return threads


def tell(self, what, threads):
    """Into table and recording."""
    for thread in threads:
        self.record("thread", what=what, **thread)
        self.note(f"{what}: thread {thread['name']}{' (main)' if thread['thread'] == 'main' else ''}",
                  f"{thread['state']} in {thread['call']}" + (f" on {thread['about']}" if thread["about"] else "")
                  + f", {thread['wchan'] or 'no wchan'}, {thread['share']:.0%} of the looks, "
                  f"{thread['cpu']:.0%} of a core, {thread['switches_per_s']} switches a second")
