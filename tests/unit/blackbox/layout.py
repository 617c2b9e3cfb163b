#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""layout.py INCLUDE LIST [--write]: is the list of fields that of the headers in INCLUDE? TAP on stdout.

The list is for programs in other languages, which cannot include the headers. Each field lies at the next multiple of
its size, as on every machine that rankwatch runs on; what the headers assert of sizes and offsets must agree with that.
--write makes the list. """
import pathlib
import re
import sys
import textwrap

HEAD = """\
The fields of a black box's parts: offset, name, type (u unsigned, i signed, f floating point; bits; little endian).
Made of include/rankwatch/*.h, which say what they mean, by ninja -C build box-layout. How a box is read: black-box.md.

"""
STRUCTS = ["rw_box_header", "rw_device", "rw_anchor", "rw_init", "rw_lease", "rw_gpu_memory", "rw_gpu_memory_bin",
           "rw_ports",
           "rw_port_showing", "rw_ending", "rw_communicator", "rw_gpu_progress", "rw_host_sample", "rw_wait",
           "rw_operation", "rw_scan"]
SIZES = {"uint8_t": 1, "char": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "float": 4, "uint64_t": 8}
SHORT = {"float": "f32", "char": "char"}


def read(include):
    """The headers' text without comments, and their constants."""
    text = "\n".join(path.read_text(encoding="utf-8")
                     for path in sorted(pathlib.Path(include, "rankwatch").glob("*.h")))
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return text, {name: int(number) for name, number in re.findall(r"\b(RW_\w+) = (\d+)\b", text)}


def fields(text, constants, struct):
    """[(offset, name, type, number or None)] of a struct, its size and its alignment."""
    body = re.search(rf"^struct {struct} \{{\n(.*?)^\}};", text, flags=re.M | re.S).group(1)
    found, at, widest = [], 0, 1
    for kind, names in re.findall(r"^\s*(?:RW_ATOMIC\()?((?:struct )?\w+)\)? ([^;]+);", body, flags=re.M):
        if kind.startswith("struct "):
            _, size, align = fields(text, constants, kind[7:])
        else:
            size = align = SIZES[kind]
        for name, count in re.findall(r"(\w+)(?:\[(\w+)\])?", names):
            at = -(-at // align) * align
            number = int(constants.get(count, count)) if count else None
            found.append((at, name, kind.removeprefix("struct "), number))
            at, widest = at + size * (number or 1), max(widest, align)
    return found, -(-at // widest) * widest, widest


def offset(text, constants, struct, path):
    for name in path.split("."):
        at, kind = next((at, kind) for at, field, kind, _ in fields(text, constants, struct)[0] if field == name)
        yield at
        struct = kind


def disagree(text, constants):
    """What the headers assert and this script does not find."""
    for struct, size in re.findall(r"sizeof\(struct (rw_\w+)\) == (\d+)", text):
        if struct in STRUCTS and fields(text, constants, struct)[1] != int(size):
            yield f"sizeof(struct {struct}) is not {size}"
    for struct, path, at in re.findall(r"offsetof\(struct (\w+), ([\w.]+)\) == (\d+)", text):
        if sum(offset(text, constants, struct, path)) != int(at):
            yield f"offsetof(struct {struct}, {path}) is not {at}"


def listing(text, constants):
    lines = []
    for struct in STRUCTS:
        found, size, _ = fields(text, constants, struct)
        shown = [f"{at} {name} {SHORT.get(kind, kind.replace('uint', 'u').replace('int', 'i').replace('_t', ''))}"
                 + (f"[{number}]" if number else "") for at, name, kind, number in found
                 if not re.match("reserved|zero", name)]
        text_of = ", ".join(field.replace(" ", "\0") for field in shown)
        lines.append(f"{struct}, {size} bytes")
        lines += [line.replace("\0", " ")
                  for line in textwrap.wrap(text_of, 116, initial_indent="  ", subsequent_indent="  ")]
    return HEAD + "\n".join(lines) + "\n"


def main(include, path, write=""):
    text, constants = read(include)
    made, path = listing(text, constants), pathlib.Path(path)
    faults = list(disagree(text, constants))
    if write:
        path.write_text(made, encoding="utf-8")
    elif path.read_text(encoding="utf-8") != made:
        faults.append("the list is not that of the headers: ninja -C build box-layout writes it")
    print("1..1")
    print("not ok 1" if faults else "ok 1", "the list has the fields of the headers")
    for fault in faults:
        print("#", fault)
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
