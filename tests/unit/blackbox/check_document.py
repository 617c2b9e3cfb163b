#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The program in docs/black-box.md reads a real box: check_document.py DOCUMENT WRITE_BOX. TAP on stdout."""
import pathlib
import re
import subprocess
import sys

program = re.search(r"```python\n(.*?)```", pathlib.Path(sys.argv[1]).read_text(), re.S).group(1)
with subprocess.Popen([sys.argv[2]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
    path = writer.stdout.readline().strip()
    if not path:
        print("1..0 # SKIP /dev/shm is no tmpfs here")
        sys.exit(0)
    seen = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)

lines = seen.stdout.splitlines()
expected = ["host-a job-1: 3 operations",
            "comm 0 function 1 #100 count 4096 enqueued at 5000: done",
            "comm 0 function 1 #101 count 4096 enqueued at 5001: finished on the host",
            "comm 0 function 1 #102 count 4096 enqueued at 5002: in flight"]
print("1..1")
print("ok 1" if lines == expected else "not ok 1", "the program in the document reads a box")
for line in [] if lines == expected else lines + seen.stderr.splitlines():
    print("#", line)
