#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Renders contrib/kubernetes with `kubectl kustomize`: the component reaches each kind of job that it names, at the place where that kind keeps its
pods, and the base has no right but those that it names."""
import pathlib
import shutil
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "contrib" / "kubernetes"
SKIPPED = 77
BROUGHT = ["- copy-to", "mountPath: /dev/shm", "image: rankwatch:"]


def render(folder):
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict((document.split("kind: ", 1)[1].split("\n", 1)[0], document) for document in done.stdout.split("\n---\n"))


def main():
    if shutil.which("kubectl") is None:
        print("skipped: no kubectl, which renders contrib/kubernetes")
        return SKIPPED
    jobs = render(FOLDER / "example")
    assert set(jobs) == {"Job", "PyTorchJob", "JobSet"}, jobs.keys()
    for kind, document in jobs.items():
        for words in BROUGHT:
            assert words in document, f"{kind} lacks {words!r}:\n{document}"
    base = render(FOLDER / "base")
    assert set(base) == {"Namespace", "ConfigMap", "Service", "Deployment", "DaemonSet"}, base.keys()
    assert "privileged: true" not in base["DaemonSet"] and "hostNetwork" not in base["DaemonSet"]
    assert "add:" not in base["Deployment"], "the judge has a capability"
    return 0


if __name__ == "__main__":
    sys.exit(main())
