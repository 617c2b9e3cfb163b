#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""image.py TREE.tar.gz ROOT…: builds the image of the relocatable tree with buildah, as root, and uses it as an init
container does: from inside it copies itself into a volume, and works from there in each ROOT, that is in images that
know nothing of it. Where glibc is older than 2.28 or missing it says so in one line, and the job runs. No container is
started: what runs in it runs in a chroot."""
import pathlib
import shutil
import subprocess
import sys

from root import OLDEST_GLIBC, Root, glibc_of, play_refused, shared_memory

BUILD = pathlib.Path(__file__).resolve().parents[2] / "contrib/image/build"
NAME = "localhost/rankwatch:trial"
FILES = ["lib/librankwatch-drill.so", "lib/libnccl-profiler-rankwatch.so", "bin/rankwatch.bin", "bin/rankwatch"]


def buildah(*arguments):
    return subprocess.run(["buildah", *arguments], check=True, capture_output=True, text=True).stdout.strip()


def inside(root, *command):
    """What a program of the image prints there."""
    script = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    alone = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", script, root]
    done = subprocess.run([*alone, *command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def copy_out(image, volume):
    shared = image / "tmp/shared"
    assert inside(image, "/usr/bin/rankwatch", "version").startswith("rankwatch ")
    inside(image, "/opt/rankwatch/libexec/rankwatchd", "--help")
    said = inside(image, "/usr/bin/rankwatch", "copy-to", "/tmp/shared").splitlines()
    assert said == [f"/tmp/shared/{file}" for file in FILES], said
    shutil.rmtree(volume, ignore_errors=True)
    shutil.copytree(shared, volume)


def try_in(image, path):
    volume = path / "opt/rankwatch"
    copy_out(image, volume)
    with shared_memory() as shm:
        root = Root(path, shm)
        glibc = glibc_of(root)
        if glibc < OLDEST_GLIBC:
            play_refused(root, glibc)
        else:
            said = root.must_say("/opt/rankwatch/bin/rankwatch run -- sh -c 'echo works; exit 5'", "works", (5,))
            assert "runs " not in said, said
    shutil.rmtree(volume)
    print(f"ok      the image's copy in {path.name}", flush=True)


def main():
    if not shutil.which("buildah"):
        print("not run: the image (no buildah)")
        return 0
    subprocess.run([BUILD, sys.argv[1], NAME], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    container = buildah("from", NAME)
    try:
        image = pathlib.Path(buildah("mount", container))
        for root in sys.argv[2:]:
            try_in(image, pathlib.Path(root).resolve())
    finally:
        buildah("rm", container)
        buildah("rmi", NAME)
    return 0


if __name__ == "__main__":
    sys.exit(main())
