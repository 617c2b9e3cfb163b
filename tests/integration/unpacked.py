# SPDX-License-Identifier: MIT
"""Programs of the distribution's packages that are not installed here: fetched and unpacked, because to install them
starts their services."""

import shutil
import subprocess

import stage


def unpack(packages, directory):
    """Their files below the directory; skips the test, aloud, where they cannot be had."""
    names = ", ".join(sorted(packages))
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        stage.skip(f"not installed: {names}")
    for command in (["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", *sorted(packages)],
                    ["sh", "-c", "for package in *.deb; do dpkg -x \"$package\" . || exit; done"]):
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True)
        if done.returncode:
            stage.skip(f"cannot be fetched: {names}: {done.stderr.strip().splitlines()[-1:]}")
