#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rankwatch top` in a real terminal (tmux) beside a real job under `rankwatch run`: every view names the rank that is
late, in a small and a large terminal, and goes on when the collector is killed beneath it. Words are compared and not
screens: two runs are never alike."""

import re
import shutil

import collector_kills
import stage
import top

LATE = collector_kills.FAULT[2].removeprefix("--fault-rank=")
SIZES = ((80, 24), (200, 60))
# Key, and what must be there in that view.
VIEWS = {
    "1": [f"STRAGGLER +rank {LATE} ", "  lost ", "  watchdog ", rf"\n.? +{LATE}  L "],
    "2": [rf"\n.? +{LATE}  L "],
    "3": ["COMMUNICATOR", "8 of 8", rf"\b{LATE}: \d+"],
    "4": [rf"\n +{LATE}  L ", r"host \S+, pid \d+, step \d+", "scans: ", "THREADS", "python-main", r"futex\(2\)",
          "LAST OPERATIONS", r"(AllGather|ReduceScatter|AllReduce) +#"],
    "5": ["CLEAN SCANS", rf"\n +{LATE}  +\d+ "],
    "6": ["FINDINGS", f"STRAGGLER +rank {LATE} "],
}
TITLE = r" · 8 of 8 ranks · step (\d+) · (eBPF|eBPF \d of 8|/proc|/proc \(root\)|black boxes) +LIVE  \d\d:\d\d:\d\d"


def has_all(screen, patterns):
    return all(re.search(pattern, screen) for pattern in patterns)


def see(failures, terminal, what, patterns):
    screen = stage.wait_until(lambda: (seen := terminal.screen()) and has_all(seen, patterns) and seen, top.PATIENCE)
    if not failures.check(screen, f"{what}: {patterns}"):
        print(terminal.screen())
    return screen


def step_of(screen):
    return int(re.search(TITLE, screen).group(1))


def look_at_all(failures, terminal):
    for width, height in SIZES:
        terminal.tmux("resize-window", "-x", str(width), "-y", str(height))
        for key, patterns in VIEWS.items():
            terminal.keys(key)
            see(failures, terminal, f"{width}x{height}, view {key}", [TITLE, *patterns])
    terminal.tmux("resize-window", "-x", "80", "-y", "24")


def kill_collector(failures, play, terminal):
    """What is shown afterwards is news: the step has gone on."""
    terminal.keys("1")
    before = see(failures, terminal, "before the kill", [TITLE, *VIEWS["1"]])
    old, = play.pids("collect")
    stage.kill(old)
    failures.check(stage.wait_until(lambda: [pid for pid in play.pids("collect") if pid != old], 10),
                   "the collector is started again")
    after = stage.wait_until(lambda: (seen := terminal.screen()) and has_all(seen, [TITLE, *VIEWS["1"]])
                             and step_of(seen) > step_of(before) + 1 and seen, 30)
    failures.check(before and after, f"LIVE again, with the finding, from step {before and step_of(before)} on to "
                                     f"{after and step_of(after)}")


def main():
    if not shutil.which("tmux"):
        stage.skip("no tmux (Debian: tmux)")
    failures = stage.Failures(on_time=True)
    with stage.Stage() as play:
        play.start(stage.RANKWATCH, "run", "--",
                   *stage.workload(*collector_kills.SIZES[:1], "--steps=200", collector_kills.SIZES[2],
                                   *collector_kills.FAULT))
        if failures.check(stage.wait_until(lambda: collector_kills.opened(play), 60), "the straggler is found"):
            terminal = top.Terminal(play.dir, f"{stage.RANKWATCH} top --job {play.dir.name}", play.environment())
            try:
                look_at_all(failures, terminal)
                kill_collector(failures, play, terminal)
                terminal.keys("q")
                terminal.shows("status 0")
            finally:
                terminal.close()
    failures.end()


if __name__ == "__main__":
    main()
