"""A rank as the look at Python finds it. The first argument says what it does; it prints "ready" before it does it."""
import ctypes
import gc
import os
import sys
import threading
import time


class Trainer:
    def save_checkpoint(self, lock):
        print("ready", flush=True)
        lock.acquire()  # save_checkpoint is here


def read_socket():
    print("ready", flush=True)
    os.read(0, 1)  # read_socket is here


crunching = threading.Event()


def prefetch():
    """Sleeps for ever with the interpreter's lock, as a C extension that does not let go."""
    crunching.wait()
    print("ready", flush=True)
    ctypes.PyDLL(None).sleep(1000)  # prefetch is here


def crunch():
    crunching.set()
    while True:
        sum(range(100))


def crunch_with_all():
    crunching.wait()
    crunch()


def daß_ist_ein_sehr_langer_name_einer_funktion_die_niemand_je_so_nennen_würde():
    print("ready", flush=True)
    time.sleep(1000)


class Slow:
    def __init__(self):
        self.ring = self

    def __del__(self):
        print("ready", flush=True)
        time.sleep(1000)


def deep(depth):
    if depth:
        deep(depth - 1)
    else:
        threading.Event().wait()


def main(what):
    if what == "lock":
        lock = threading.Lock()
        lock.acquire()
        Trainer().save_checkpoint(lock)
    elif what == "read":
        read_socket()
    elif what == "held":
        threading.Thread(target=prefetch, daemon=True).start()
        crunch()
    elif what == "name":
        daß_ist_ein_sehr_langer_name_einer_funktion_die_niemand_je_so_nennen_würde()
    elif what == "gc":
        Slow()
        gc.collect()
    elif what == "deep":
        print("ready", flush=True)
        deep(400)
    elif what == "busy":
        for _ in range(40):
            threading.Thread(target=crunch_with_all, daemon=True).start()
        print("ready", flush=True)
        crunch()
    elif what == "fork":
        if os.fork():
            os.wait()
        else:
            print("pid", os.getpid(), flush=True)
            read_socket()


main(sys.argv[1])
