#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""aarch64.py [--build FOLDER]: builds rankwatch and its tests for 64-bit Arm, and plays them under qemu-user: unit
tests of the plugin and of the black box, all tests of the interfaces of NCCL's profiler, those of the interposer with
one NCCL, and a demo that must name its rank.

It needs gcc-aarch64-linux-gnu, qemu-user-static and Debian's mirror, from which it takes the libraries for arm64;
nothing of this system is changed. Programs for arm64 are known to the kernel as such in a namespace of this test's own
alone (Linux 6.7 and newer). What cannot be had skips the test, aloud. The emulator keeps the stronger order of memory
of the machine below it, so nothing here shows that an order holds on Arm. Status 0: all passed; 1: not; 77: skipped."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
TRIPLET = "aarch64-linux-gnu"
PACKAGES = ["libcriterion-dev", "libjansson-dev", "libuv1-dev", "zlib1g-dev", "libncurses-dev", "libprotobuf-c-dev",
            "libbpf-dev",
            "libmicrohttpd-dev", "libnats-dev"]
SUITES = ("unit/plugin/", "unit/blackbox/", "abi/", "preload/")
NCCL = "2.28.9"  # of the interposer's tests, which are the same for each NCCL
DEMO, NAMED = "nan", "right"
SKIPPED = 77

# What qemu-user does not do as Linux does, and the tests that look at it: single cases, a program as it is called, or
# with "*" however it is.
EMULATOR = {
    "madvise(MADV_DONTFORK and MADV_WIPEONFORK) has no effect": {
        "hammer", "step::a_tag_in_a_forked_child_marks_nothing", "step::a_forked_child_marks_nothing",
        "writer::a_forked_child_has_no_mapping"},
    "process_vm_readv(2) is not there, with which the interposer looks for a child's handle": {
        "scans_past split", "scans_past awaited-split"},
    "/proc/self/smaps counts no pages": {"life::its_file_may_go_away_while_it_records"},
    "limits of address space are ignored": {"small_space *"},
    "the emulator has a thread of its own": {"idle *"},
    "it takes too long": {"scans dear"},
    "the namespace has one user": {
        "evidence::another_users_file_is_refused", "run_mark::a_directory_that_is_a_link_or_somebody_elses_gets_none",
        "writer_places::a_directory_of_somebody_else_is_refused"},
    "/proc/self/stat has another start time than /proc/PID/stat": {
        "reader::a_copy_is_unknown_while_its_process_runs_and_orphaned_after"},
    "threads, registers and system calls in /proc are the emulator's": {"plugin_group_thread_test *",
                                                                        "plugin_self_sampler_test *"},
}
REGISTER = r":rankwatch-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:" \
           r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:"


class Skip(Exception):
    """What cannot be had here."""


def quietly(command, reason=None, **more):
    """Fails with what it said; with a reason for that, the test is skipped."""
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **more)
    if done.returncode:
        raise Skip(reason) if reason else AssertionError(f"{command}: status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def emulated(command, **more):
    """In a namespace where the kernel starts programs for arm64 through the emulator."""
    script = ('mount -t binfmt_misc none /proc/sys/fs/binfmt_misc && printf %s "$0" >/proc/sys/fs/binfmt_misc/register '
              '&& exec "$@"')
    emulator = shutil.which("qemu-aarch64-static")
    return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "/bin/sh", "-c", script,
                           f"{REGISTER}{emulator}:F", *map(str, command)],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)


def check_tools():
    missing = [name for name in (f"{TRIPLET}-gcc", "qemu-aarch64-static", "meson", "ninja", "apt-get", "dpkg-deb")
               if not shutil.which(name)]
    if missing:
        raise Skip(f"no {', '.join(missing)} (gcc-{TRIPLET}, libc6-dev-arm64-cross, qemu-user-static)")
    if emulated(["/bin/true"]).returncode:
        raise Skip("no namespace with binfmt_misc of its own (Linux 6.7)")


def make_root(folder):
    """The libraries for arm64, with all that they need, and their headers."""
    root, own_apt = folder / "root", [SOURCE / "packaging/own_apt", "arm64", folder / "apt"]
    if (root / "made").exists():
        return root
    quietly([*own_apt, "update"], "Debian's mirror does not answer")
    quietly([*own_apt, "install", "--download-only", "-y", "--no-install-recommends", *PACKAGES])
    root.mkdir(exist_ok=True)
    for package in sorted((folder / "apt/cache/archives").glob("*.deb")):
        quietly(["dpkg-deb", "-x", package, root])
    for link in [path for path in root.rglob("*") if path.is_symlink() and os.readlink(path).startswith("/")]:
        target = os.path.relpath(f"{root}{os.readlink(link)}", link.parent)
        link.unlink()
        link.symlink_to(target)
    (root / "made").touch()
    return root


def describe(folder, root):
    """For meson. Programs find their loader and libraries by path: of a prefix (-L) the emulator makes the root of all
    absolute paths."""
    libraries = f"{root}/usr/lib/{TRIPLET}"
    compiler = [*(["ccache"] if shutil.which("ccache") else []), f"{TRIPLET}-gcc", f"--sysroot={root}",
                f"-B{libraries}/"]
    link = [f"-Wl,--dynamic-linker={root}/lib/ld-linux-aarch64.so.1", "-Wl,--disable-new-dtags",
            f"-Wl,-rpath,{root}/lib/{TRIPLET}:{libraries}"]
    file = folder / "cross.ini"
    file.write_text(f"""[binaries]
c = {compiler}
ar = '{TRIPLET}-ar'
strip = '{TRIPLET}-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static']
[built-in options]
c_link_args = {link}
[properties]
sys_root = '{root}'
pkg_config_libdir = '{libraries}/pkgconfig:{root}/usr/share/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
""", encoding="utf-8")
    return file


def configure(folder, root):
    build = folder / "build"
    if not (build / "build.ninja").exists():
        quietly(["meson", "setup", build, SOURCE, "--cross-file", describe(folder, root), "-Dwerror=true"])
    return build


def chosen(build):
    """Tests as meson knows them, without those that look at files of the build alone."""
    for test in json.loads(quietly(["meson", "introspect", "--tests", build])):
        command = [word for word in test["cmd"] if word != shutil.which("qemu-aarch64-static")
                   and word != "qemu-aarch64-static"]
        place = command[0].removeprefix(f"{build}/tests/")
        other_nccl = place.startswith("preload/") and test["env"].get("SIM_NCCL_VERSION", NCCL) != NCCL
        if (place != command[0] and place.startswith(SUITES) and not other_nccl
            and test["protocol"] in ("tap", "exitcode")):
            yield test, command


def needed(build, tests):
    """Names of what the tests run and load, for ninja."""
    files = {target["id"]: target["filename"]
             for target in json.loads(quietly(["meson", "introspect", "--targets", build]))}
    return sorted({str(pathlib.Path(file).relative_to(build)) for test, _ in tests for target in test["depends"]
                   for file in files[target]})


def excused(command, output):
    """The emulator's doing, where every failure in it is one: why, or None."""
    program = pathlib.Path(command[0]).name
    called = " ".join([program, *command[1:2]])
    failed = {line.split(" - ", 1)[1].split("  ")[0].split(" ")[0] for line in output.splitlines()
              if line.startswith("not ok")}
    for reason, cases in EMULATOR.items():
        if f"{program} *" in cases or called in cases or (failed and failed <= cases):
            return reason
    return None


def play(test, command):
    """Passed: True; False; or the reason why it does not count."""
    if excused(command, ""):
        return excused(command, "")
    try:
        done = emulated(command, env={**os.environ, **test["env"]}, timeout=4 * test["timeout"])
    except subprocess.TimeoutExpired:
        print(f"FAILED  {test['name']}: no end in {4 * test['timeout']} s", flush=True)
        return False
    if done.returncode in (0, SKIPPED):
        return True if done.returncode == 0 else "it skips itself"
    reason = excused(command, done.stdout)
    if reason is None:
        print(f"FAILED  {test['name']}: status {done.returncode}\n{done.stdout[-2000:]}", flush=True)
    return reason or False


def play_demo(build):
    done = emulated([build / "console/rankwatch", "demo", DEMO], timeout=300)
    if done.returncode or f": {NAMED}" not in done.stdout:
        print(f"FAILED  rankwatch demo {DEMO}: status {done.returncode}\n{done.stdout[-3000:]}", flush=True)
        return False
    print(*[line for line in done.stdout.splitlines() if line.startswith(("  injected", "  named"))], sep="\n")
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build-aarch64")
    folder = parser.parse_args().build.resolve()
    try:
        check_tools()
        folder.mkdir(parents=True, exist_ok=True)
        build = configure(folder, make_root(folder))
    except Skip as skip:
        print(f"skipped: aarch64: {skip}")
        return SKIPPED
    tests = list(chosen(build))
    quietly(["ninja", "-C", build, *needed(build, tests), "demo", "helper/rankwatchd"])
    results = [(test, play(test, command)) for test, command in tests]
    failed = sum(result is False for _, result in results) + (not play_demo(build))
    for reason in sorted({result for _, result in results if isinstance(result, str)}):
        print(f"not counted, {reason}: "
              + ", ".join(sorted({test["name"] for test, result in results if result == reason})))
    print(f"aarch64, under qemu-user: {sum(result is True for _, result in results)} tests passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
