#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""python_job.py FAULT: a training job of four processes of the real interpreter, each a rank that calls NCCL and CUDA
through ctypes; rank 2 does what FAULT names, from its seventh step on. Without RANK in the environment it is the
launcher, as torchrun: with "gc-in-turn" all ranks do, one after the other. When a rank fails it gives the others a
while and ends them; with "restart" it then starts all of them once more. python_job.py FAULT DIRECTORY is a rank, of
this launcher or of torchrun, in whose environment RANK is. "torch-loader" and "torch-loader-killed" are the faults of
PyTorch's own DataLoader. With FIRST_STEP in the environment each rank says which step begins, counted from that
number."""

import ctypes
import gc
import hashlib
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from multiprocessing.reduction import ForkingPickler

RANKS, FAULTY, FIRST, STEPS = 4, 2, 7, 30
GRACE_S, STUCK_S, LIMIT_S = 12, 40, 200
LAYERS, ELEMENTS = 4, 4096
CPU_S = 0.25  # of a fault that computes: more than what ranks on few cores take from each other
FLOAT, SUM = 7, 0
IN_TURN = "gc-in-turn"  # each rank does it, in steps of its own


class Gpu:
    """One stream, one communicator, one buffer."""

    def __init__(self, rank):
        self.cuda, self.nccl = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnccl.so.2")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.stream, self.memory, self.communicator = ctypes.c_void_p(), ctypes.c_uint64(), ctypes.c_void_p()
        self.call(self.cuda.cuInit, 0)
        self.call(self.cuda.cuDeviceGet, ctypes.byref(device), rank)
        self.call(self.cuda.cuDevicePrimaryCtxRetain, ctypes.byref(context), device)
        self.call(self.cuda.cuCtxSetCurrent, context)
        self.context = context
        self.call(self.cuda.cuStreamCreate, ctypes.byref(self.stream), 1)
        self.call(self.cuda.cuMemAlloc_v2, ctypes.byref(self.memory), ctypes.c_size_t(ELEMENTS * 4))
        self.call(self.cuda.cuMemsetD8_v2, self.memory, ctypes.c_ubyte(0), ctypes.c_size_t(ELEMENTS * 4))

    @staticmethod
    def call(function, *arguments):
        result = function(*arguments)
        if result:
            raise RuntimeError(f"{function.__name__} returned {result}")

    def connect(self, rank, path):
        identity = (ctypes.c_char * 128)()
        if rank == 0:
            self.call(self.nccl.ncclGetUniqueId, identity)
            with open(path + ".new", "wb") as file:
                file.write(bytes(identity))
            os.rename(path + ".new", path)
        while not os.path.exists(path):
            time.sleep(0.01)
        class Identity(ctypes.Structure):
            _fields_ = [("internal", ctypes.c_char * 128)]
        with open(path, "rb") as file:
            identity = Identity.from_buffer_copy(file.read())
        self.call(self.nccl.ncclCommInitRank, ctypes.byref(self.communicator), RANKS, identity, rank)

    def reduce(self, elements):
        self.call(self.nccl.ncclAllReduce, self.memory, self.memory, ctypes.c_size_t(elements), FLOAT, SUM,
                  self.communicator, self.stream)

    def wait(self):
        self.call(self.cuda.cuStreamSynchronize, self.stream)


class Autograd(threading.Thread):
    """The backward pass has a thread of its own, for which the main thread waits."""

    def __init__(self, gpu):
        super().__init__(name="pt_autograd_0", daemon=True)
        self.gpu, self.work, self.done = gpu, queue.SimpleQueue(), threading.Semaphore(0)
        self.start()

    def run(self):
        Gpu.call(self.gpu.cuda.cuCtxSetCurrent, self.gpu.context)
        while True:
            self.work.get()
            for _ in range(LAYERS):
                self.gpu.reduce(ELEMENTS)
            self.done.release()

    def backward(self):
        self.work.put(None)
        self.done.acquire()


def busy(seconds):
    """Computes, and holds the interpreter's lock but for its switches."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        sum(number * number for number in range(1000))


# Faults: made once, before the first step; called in each step from the first on.

class Sleep:
    def strike(self):
        time.sleep(0.6)


class Writer:
    """SummaryWriter: a bounded queue, and a thread that writes to a mount where each write takes as long as the
    disk."""

    def __init__(self):
        self.events = queue.Queue(maxsize=4)
        self.file = open(os.path.join(os.environ["WORKLOAD_LOG_DIR"], "events.out.tfevents"), "wb", buffering=0)
        threading.Thread(target=self.write, name="tb-writer", daemon=True).start()

    def write(self):
        while True:
            self.file.write(self.events.get())

    def strike(self):
        for _ in range(8):
            self.events.put(b"x" * 90000)


class Checkpoint:
    def __init__(self):
        self.path = os.path.join(os.environ["WORKLOAD_LOG_DIR"], "checkpoint.pt")

    def strike(self):
        with open(self.path, "wb") as file:
            file.write(b"x" * 700000)
            file.flush()
            os.fsync(file.fileno())


class Loader:
    """A worker process behind pipes, which makes a batch when it is asked for one."""

    def __init__(self):
        self.reader, writer = os.pipe()
        asked, self.asks = os.pipe()
        self.worker = os.fork()
        if self.worker == 0:
            os.close(self.reader)
            os.close(self.asks)
            with open("/proc/self/comm", "w") as comm:
                comm.write("pt_data_worker")
            while os.read(asked, 1):
                self.work()
                os.write(writer, b"x" * 100)
            os._exit(0)
        os.close(writer)
        os.close(asked)
        self.strikes = 0

    def work(self):
        busy(0.7)

    def strike(self):
        os.write(self.asks, b"?")
        if not os.read(self.reader, 100):
            raise RuntimeError("DataLoader worker exited unexpectedly")


class LoaderForked(Loader):
    """Its worker was forked while another thread held a lock that it needs."""

    def __init__(self):
        self.lock, held = threading.Lock(), threading.Event()

        def hold():
            with self.lock:
                held.set()
                time.sleep(1)
        threading.Thread(target=hold, daemon=True).start()
        held.wait()
        super().__init__()

    def work(self):
        with self.lock:
            pass


class LoaderStarved(Loader):
    """Its worker is fast, and is bound to one core with three programs that compute."""

    def __init__(self):
        super().__init__()
        core = {max(os.sched_getaffinity(0))}
        os.sched_setaffinity(self.worker, core)
        self.others = []
        for _ in range(3):
            self.others.append(os.fork())
            if not self.others[-1]:
                os.sched_setaffinity(0, core)
                parent = os.getppid()
                while os.getppid() == parent:
                    busy(0.2)
                os._exit(0)

    def work(self):
        end = time.thread_time() + CPU_S
        while time.thread_time() < end:
            sum(number * number for number in range(1000))


class LoaderKilled(Loader):
    def strike(self):
        self.strikes += 1
        if self.strikes == 3:
            os.kill(self.worker, 9)
        super().strike()


class TorchLoader:
    """PyTorch's DataLoader, with one worker process that is too slow."""

    def __init__(self):
        from torch.utils.data import DataLoader, Dataset

        class Slow(Dataset):
            def __len__(self):
                return STEPS

            def __getitem__(self, index):
                busy(0.7)
                return float(index)

        self.batches = iter(DataLoader(Slow(), num_workers=1, prefetch_factor=1))
        self.strikes = 0

    def strike(self):
        next(self.batches)


class TorchLoaderKilled(TorchLoader):
    def strike(self):
        self.strikes += 1
        if self.strikes == 3:
            os.kill(self.batches._workers[0].pid, 9)
        super().strike()


class Tcp:
    """A data service of another process, asked over TCP."""

    def __init__(self):
        server = socket.create_server(("127.0.0.1", 0))
        if os.fork() == 0:
            connection = server.accept()[0]
            while connection.recv(100):
                time.sleep(0.6)
                connection.send(b"x")
            os._exit(0)
        self.connection = socket.create_connection(server.getsockname())

    def strike(self):
        self.connection.send(b"?")
        self.connection.recv(1)


class Convoy:
    def __init__(self):
        self.crowded = threading.Event()
        for _ in range(8):
            threading.Thread(target=self.compute, daemon=True).start()

    def compute(self):
        while self.crowded.wait():
            sum(number * number for number in range(500))

    def strike(self):
        self.crowded.set()
        for _ in range(14):
            time.sleep(0.001)
        self.crowded.clear()


class Collect:
    """A heap of many small objects, gone through by hand in each step."""

    def __init__(self):
        gc.disable()
        self.heap = [[number] for number in range(700000)]
        self.rings = [{"of": number} for number in range(200000)]

    def strike(self):
        begun = time.thread_time()
        while time.thread_time() < begun + CPU_S:
            gc.collect()


class Pickle:
    """What is sent to another process is pickled, as by the queues of multiprocessing."""

    def __init__(self):
        self.state = [{"text": "word " * 20, "label": number} for number in range(150000)]

    def save_state(self):
        begun = time.thread_time()
        while time.thread_time() < begun + CPU_S:
            ForkingPickler.dumps(self.state)

    def strike(self):
        self.save_state()


class Crowded:
    """Its main thread and two workers are bound to one core, as by a launcher that binds a rank to it: all compute
    without the interpreter's lock."""

    def __init__(self):
        self.core = {max(os.sched_getaffinity(0))}
        self.data, self.crowded = bytes(4 << 20), threading.Event()
        for _ in range(2):
            threading.Thread(target=self.work, name="pt_worker", daemon=True).start()

    def work(self):
        os.sched_setaffinity(0, self.core)
        while self.crowded.wait():
            hashlib.sha256(self.data)

    def strike(self):
        os.sched_setaffinity(0, self.core)
        self.crowded.set()
        begun = time.thread_time()
        while time.thread_time() < begun + CPU_S:
            hashlib.sha256(self.data)
        self.crowded.clear()


class Deadlock:
    """Two locks, taken the other way round by two threads."""

    def __init__(self):
        self.one, self.other, self.both = threading.Lock(), threading.Lock(), threading.Barrier(2)
        threading.Thread(target=self.cross, name="checkpointer", daemon=True).start()

    def cross(self):
        with self.other:
            self.both.wait()
            with self.one:
                pass

    def take_both_locks(self):
        with self.one:
            self.both.wait()
            with self.other:
                pass

    def strike(self):
        self.take_both_locks()


class Raise:
    def strike(self):
        raise ValueError("a batch of another shape")


class Crash:
    def strike(self):
        ctypes.string_at(8)


FAULTS = {"none": None, "sleep": Sleep, "writer": Writer, "checkpoint": Checkpoint, "loader": Loader,
          "loader-starved": LoaderStarved, "loader-forked": LoaderForked, "loader-killed": LoaderKilled,
          "torch-loader": TorchLoader, "torch-loader-killed": TorchLoaderKilled, "tcp": Tcp, "convoy": Convoy,
          "gc": Collect, IN_TURN: Collect, "pickle": Pickle, "cpu": Crowded, "deadlock": Deadlock, "exception": Raise,
          "segfault": Crash,
          "restart": Raise}


def rankwatch_step():
    """As docs/steps.md has it."""
    for library in (None, "libnccl-profiler-rankwatch.so"):
        try:
            function = ctypes.CDLL(library).rankwatch_step
        except (OSError, AttributeError):
            continue
        function.argtypes, function.restype = [ctypes.c_uint64], None
        return function
    return lambda step: None


def train(rank, fault, directory):
    made, generation = FAULTS[fault], os.environ["TORCHELASTIC_RESTART_COUNT"]
    in_turn = fault == IN_TURN
    struck = (rank == FAULTY or in_turn) and made and generation == "0"
    fault = made() if struck else None
    gpu = Gpu(rank)
    gpu.connect(rank, f"{directory}/id{generation}")
    autograd = Autograd(gpu)
    step_begins = rankwatch_step() if "FIRST_STEP" in os.environ else None
    for step in range(1, STEPS + 1):
        if step_begins:
            step_begins(int(os.environ["FIRST_STEP"]) + step - 1)
        time.sleep(0.06)
        if fault and step >= FIRST and (not in_turn or step % RANKS == rank):
            fault.strike()
        for _ in range(LAYERS):
            gpu.reduce(ELEMENTS)
        autograd.backward()
        gpu.reduce(1)
        gpu.wait()


def start(fault, directory, generation):
    ranks = []
    for rank in range(RANKS):
        environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(RANKS),
                           LOCAL_WORLD_SIZE=str(RANKS),
                           TORCHELASTIC_RESTART_COUNT=str(generation), TORCHELASTIC_RUN_ID="python")
        ranks.append(subprocess.Popen([sys.executable, __file__, fault, directory], env=environment))
    return ranks


def outcome(ranks, limit_s):
    """0, or the status of the first that failed; a job that takes too long is ended, 124."""
    deadline = failed_at = None
    status, begin = 0, time.monotonic()
    while None in [rank.poll() for rank in ranks]:
        failed = [rank.returncode for rank in ranks if rank.returncode]
        if failed and failed_at is None and not status:
            status, failed_at = failed[0], time.monotonic()
        deadline = failed_at + GRACE_S if failed_at else begin + limit_s
        if time.monotonic() > deadline:
            status = status or 124
            for rank in ranks:
                rank.kill()
        time.sleep(0.02)
    return status or next((rank.returncode for rank in ranks if rank.returncode), 0)


def be_debugged(rank):
    """A debugger that attaches, and leaves again."""
    rank.send_signal(signal.SIGSTOP)
    rank.send_signal(signal.SIGCONT)


def launch(fault):
    import tempfile
    with tempfile.TemporaryDirectory() as directory:
        limit_s = STUCK_S if fault in ("deadlock", "loader-forked") else LIMIT_S
        ranks = start(fault, directory, 0)
        if fault == "loader-forked":
            debugger = threading.Timer(STUCK_S / 2, be_debugged, [ranks[FAULTY]])
            debugger.daemon = True
            debugger.start()
        status = outcome(ranks, limit_s)
        if status and fault == "restart":
            status = outcome(start(fault, directory, 1), limit_s)
    sys.exit(128 - status if status < 0 else status)


if __name__ == "__main__":
    if "RANK" in os.environ:
        train(int(os.environ["RANK"]), sys.argv[1], sys.argv[2])
    else:
        launch(sys.argv[1])
