# SPDX-License-Identifier: MIT
"""The scan kernel's programs, tests/gpu/scan_*.c: each line that they print is a number, a claim or a remark."""

import part


def play(self, name, seconds, *arguments, **environment):
    """gpu_scan_NAME; False where it cannot run."""
    program = part.PROGRAMS / f"gpu_scan_{name}"
    done = part.run([program, *arguments], seconds, **environment)
    if done.status == 77:
        self.note(program.name, f"skipped: {done.err.strip()}")
        return False
    # What a claim says is more than that one failed.
    wrong = [line for line in done.json() if line.get("ok") is False]
    for line in done.json():
        if "value" in line:
            self.number(line["what"], float(line["value"]), line["unit"])
        elif "ok" in line:
            self.check(line["ok"], line["what"])
        elif "text" in line:
            self.note(line["what"], line["text"])
    if not wrong:
        self.check(done.status == 0, program.name + done.why())
    return True
