#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""trace.py chrome|perfetto NAME…: the boxes of recorded jobs as a trace, read back by an independent reader of each
format (Python's json; protobuf's own library with the few messages of the published schema built here), and held
against `rankwatch dump`. trace.py damaged NAME…: the same boxes with words of them replaced end as a trace, or in a
sentence."""

import collections
import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

from recorded import RANKWATCH, check, finish, skip, unpack


OLD = "nan@SIM_NCCL_VERSION=2.27.5"  # profiler interface v4


class Slice:
    def __init__(self, process, track, category, name, begin, end, arguments, flow):
        self.process, self.track, self.category, self.name = process, track, category, name
        self.begin, self.end, self.arguments, self.flow = begin, end, arguments, flow

    def open(self):
        return "(in flight)" in self.name


class Trace:
    """What both readers make of a trace. Times are ns of CLOCK_MONOTONIC, as in the boxes."""

    def __init__(self):
        self.processes, self.tracks = {}, {}  # number → name; (process, track) → name
        self.slices, self.instants = [], []
        self.counters = collections.defaultdict(list)  # (process, name) → [(at, value)]


def number(text):
    """JSON's µs with three decimals as ns, exactly."""
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def read_chrome(path):
    packed = path.name.endswith(".gz")
    text = (gzip.open(path, "rt") if packed else open(path)).read()
    document = json.loads(text, parse_float=number, parse_int=int)
    trace = Trace()
    trace.document = document
    flows = {}
    for event in document["traceEvents"]:
        place = (event["pid"], event["tid"])
        if event["ph"] == "M" and event["name"] == "process_name":
            trace.processes[event["pid"]] = event["args"]["name"]
        elif event["ph"] == "M" and event["name"] == "thread_name":
            trace.tracks[place] = event["args"]["name"]
        elif event["ph"] == "X":
            trace.slices.append(Slice(*place, event["cat"], event["name"], event["ts"], event["ts"] + event["dur"],
                                      event["args"], None))
        elif event["ph"] == "i":
            trace.instants.append(Slice(*place, event["cat"], event["name"], event["ts"], event["ts"], event["args"],
                                        None))
        elif event["ph"] == "C":
            trace.counters[event["pid"], event["name"]].append((event["ts"], event["args"]["value"]))
        elif event["ph"] in "stf":
            flows.setdefault(event["id"], []).append((event["ph"], place, event["ts"]))
    trace.flows = check_flow_phases(trace, flows)
    return trace


def check_flow_phases(trace, flows):
    """Each flow begins once, ends once, in this order of time, and each of its points lies at the begin of a slice. →
    id: slices"""
    begins = collections.defaultdict(list)
    for slice_ in trace.slices:
        begins[slice_.process, slice_.track, slice_.begin].append(slice_)
    phases = times = lost = 0
    tied = {}
    for name, points in flows.items():
        points.sort(key=lambda point: (point[2], "stf".index(point[0])))
        phases += [point[0] for point in points] != ["s"] + ["t"] * (len(points) - 2) + ["f"]
        times += len(points) < 2
        tied[name] = [begins[(*place, at)] for _, place, at in points]
        lost += not all(tied[name])
    check(not phases and not times and not lost,
          f"{len(flows)} flows: {phases} out of order, {times} with one point, {lost} beside a slice")
    return {name: len(slices) for name, slices in tied.items()}


# Perfetto: name → (number, type) of the messages in protos/perfetto/trace; "*" repeated.
MESSAGES = {
    "Clock": {"clock_id": (1, "uint32"), "timestamp": (2, "uint64")},
    "ClockSnapshot": {"clocks": (1, "*Clock")},
    "Name": {"iid": (1, "uint64"), "name": (2, "string")},
    "Text": {"iid": (1, "uint64"), "str": (2, "bytes")},
    "InternedData": {"event_categories": (1, "*Name"), "event_names": (2, "*Name"),
                     "debug_annotation_names": (3, "*Name"),
                     "debug_annotation_string_values": (29, "*Text")},
    "ProcessDescriptor": {"pid": (1, "int32"), "process_name": (6, "string")},
    "CounterDescriptor": {"unit": (3, "int32")},
    "TrackDescriptor": {"uuid": (1, "uint64"), "name": (2, "string"), "process": (3, "ProcessDescriptor"),
                        "parent_uuid": (5, "uint64"),
                        "counter": (8, "CounterDescriptor"), "child_ordering": (11, "int32"),
                        "sibling_order_rank": (12, "int32"),
                        "process_ordering": (19, "int32")},
    "DebugAnnotation": {"name_iid": (1, "uint64"), "int_value": (4, "int64"), "string_value": (6, "string"),
                        "string_value_iid": (17, "uint64")},
    "TrackEvent": {"category_iids": (3, "*uint64"), "debug_annotations": (4, "*DebugAnnotation"), "type": (9, "int32"),
                   "name_iid": (10, "uint64"),
                   "track_uuid": (11, "uint64"), "name": (23, "string"), "counter_value": (30, "int64"),
                   "flow_ids": (47, "*fixed64")},
    "TracePacket": {"clock_snapshot": (6, "ClockSnapshot"), "timestamp": (8, "uint64"),
                    "trusted_packet_sequence_id": (10, "uint32"),
                    "track_event": (11, "TrackEvent"), "interned_data": (12, "InternedData"),
                    "sequence_flags": (13, "uint32"),
                    "track_descriptor": (60, "TrackDescriptor")},
    "Trace": {"packet": (1, "*TracePacket")},
}


def message_class():
    sys.path.append("/usr/lib/python3/dist-packages")  # the distribution's, whichever Python this is
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        skip("no python3-protobuf")
    file = descriptor_pb2.FileDescriptorProto(name="trace.proto", package="p", syntax="proto2")
    field_type = descriptor_pb2.FieldDescriptorProto
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (place, kind) in fields.items():
            bare = kind.lstrip("*")
            added = message.field.add(name=field, number=place, label=field_type.LABEL_REPEATED if kind[0] == "*"
                                      else field_type.LABEL_OPTIONAL)
            if bare in MESSAGES:
                added.type, added.type_name = field_type.TYPE_MESSAGE, f".p.{bare}"
            else:
                added.type = getattr(field_type, "TYPE_" + bare.upper())
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    factory = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return factory(pool.FindMessageTypeByName("p.Trace"))


def unknown_fields(message):
    """Were there fields that the schema above does not have? Writing it again leaves none out, clearing them does."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return size - message.ByteSize()


def read_perfetto(path):
    message = message_class()()
    message.ParseFromString(path.read_bytes())
    check(unknown_fields(message) == 0, "every field is in the published schema")
    check(all(packet.trusted_packet_sequence_id for packet in message.packet), "every packet names its sequence")
    trace = Trace()
    names, categories, titles, texts, descriptors, flows = {}, {}, {}, {}, {}, collections.defaultdict(int)
    named = again = 0
    open_, last = collections.defaultdict(list), {}
    backwards = unknown = 0
    for packet in message.packet:
        for name in packet.interned_data.debug_annotation_names:
            names[name.iid] = name.name
        for name in packet.interned_data.event_categories:
            categories[name.iid] = name.name
        for name in packet.interned_data.event_names:
            again += titles.setdefault(name.iid, name.name) != name.name or not name.iid
        for text in packet.interned_data.debug_annotation_string_values:
            again += texts.setdefault(text.iid, text.str.decode()) != text.str.decode() or not text.iid
        if packet.HasField("track_descriptor"):
            descriptor = packet.track_descriptor
            descriptors[descriptor.uuid] = descriptor
            if descriptor.HasField("process"):
                trace.processes[descriptor.process.pid] = descriptor.process.process_name
            elif descriptor.HasField("parent_uuid"):
                parent = descriptors[descriptor.parent_uuid]
                trace.tracks[parent.process.pid, descriptor.uuid] = descriptor.name
        if not packet.HasField("track_event"):
            continue
        event, at = packet.track_event, packet.timestamp
        if event.track_uuid not in descriptors:
            unknown += 1
            continue
        process = descriptors[descriptors[event.track_uuid].parent_uuid].process.pid
        if event.type != 3:
            backwards += at < last.get(event.track_uuid, 0)
            last[event.track_uuid] = at
        value = (lambda one: texts[one.string_value_iid] if one.HasField("string_value_iid") else one.string_value
                 if one.HasField("string_value") else one.int_value)
        arguments = {names[one.name_iid]: value(one) for one in event.debug_annotations}
        named += event.HasField("name_iid")
        if event.type == 4:
            trace.counters[process, descriptors[event.track_uuid].name].append((at, event.counter_value))
        elif event.type == 2:
            open_[event.track_uuid].pop().end = at
        else:
            made = Slice(process, event.track_uuid, categories[event.category_iids[0]], titles[event.name_iid]
                         if event.HasField("name_iid") else event.name, at, at, arguments, list(event.flow_ids))
            if event.type == 1:
                trace.slices.append(made)
                open_[event.track_uuid].append(made)
                for flow in event.flow_ids:
                    flows[flow] += 1
            else:
                trace.instants.append(made)
    check(not unknown and not backwards,
          f"{unknown} events on unknown tracks, {backwards} before the one in front of them on their track")
    check(named > len(titles) and not again,
          f"{named} events have the numbers of {len(titles)} names, each number is of one text")
    check(not any(open_.values()), "every slice that begins ends")
    trace.flows = flows
    return trace


def dump(boxes, *parts):
    output = subprocess.run([RANKWATCH, "dump", *parts, boxes], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines()]


def followed(operation):
    return not {"untracked", "aborted", "captured"} & set(operation["flags"])


def instance(operation):
    """What the ranks of one instance share; None where a peer is not known."""
    if "comm_id" not in operation:
        return None
    key = (operation["comm_id"], operation["sequence"], "unannounced" in operation["flags"])
    if operation["function"] not in ("Send", "Recv"):
        return key + (operation["function"],)
    if operation.get("root_or_peer", -1) < 0:
        return None
    pair = (operation["comm_rank"], operation["root_or_peer"])
    return key + (pair if operation["function"] == "Send" else pair[::-1])


def check_nesting(trace):
    by_track = collections.defaultdict(list)
    for one in trace.slices:
        by_track[one.process, one.track].append(one)
    crossed = 0
    for slices in by_track.values():
        ends = []
        for one in sorted(slices, key=lambda one: (one.begin, -one.end)):
            while ends and ends[-1] <= one.begin:
                ends.pop()
            crossed += bool(ends) and one.end > ends[-1]
            ends.append(one.end)
    check(crossed == 0 and all(one.end >= one.begin for one in trace.slices),
          f"slices of a track lie inside each other or apart ({crossed} cross)")


def check_operations(trace, operations):
    calls = [one for one in trace.slices if one.category == "call" and not one.name.startswith("group of")]
    announced = [one for one in operations if "api_ns" in one and "captured" not in one["flags"]]
    check(len(calls) == len(announced), f"{len(calls)} calls, dump has {len(announced)}")
    kernels = [one for one in trace.slices if one.category == "kernel"]
    done = [one for one in operations if "started_seen_ns" in one and ("done_seen_ns" in one or followed(one))]
    check(len(kernels) == len(done) and kernels, f"{len(kernels)} on the GPU, dump has {len(done)}")
    check(sorted(one.begin for one in kernels) == sorted(one["started_seen_ns"] for one in done),
          "they begin when dump says")
    check(sorted(one.begin for one in calls) == sorted(one["api_ns"] for one in announced), "calls, too")
    groups = collections.Counter((one["rank"], one["api_tid"], one["group"]) for one in announced if one["group"])
    shown = collections.Counter(one.name.split(" (")[0] for one in trace.slices if one.name.startswith("group of"))
    check(shown == collections.Counter(f"group of {count} calls" for count in groups.values() if count > 1),
          f"groups: {dict(shown)}")
    wanted = {"Collective name", "In msg nelems", "Out msg nelems", "Group size", "dtype", "Rank", "Process Group Name",
              "Process Group Ranks", "Seq"}
    collective = [one for one in kernels if "Send" not in one.name and "Recv" not in one.name]
    check(all(wanted <= set(one.arguments) for one in collective), "collectives have Kineto's arguments")


def check_flows(trace, operations):
    members = collections.Counter(instance(one) for one in operations if "api_ns" in one
                                  and "captured" not in one["flags"])
    members.pop(None, None)
    tied = collections.Counter(count for count in members.values() if count > 1)
    found = collections.Counter(count for count in trace.flows.values() if count > 1)
    check(found == tied, f"flows tie all ranks of an instance: {dict(found)} flows by ranks, dump has {dict(tied)}")


def check_ends(trace, name):
    running = [one for one in trace.slices if one.category == "kernel" and one.open()]
    ends = collections.defaultdict(int)
    for one in trace.slices:
        ends[one.process] = max(ends[one.process], one.end)
    check(all(one.end == ends[one.process] for one in trace.slices if one.open() and one.category != "call"),
          "what is in flight reaches to the end of its rank's record")
    if name == "never":
        stuck = [one for one in running if one.arguments["Seq"] == 62]
        check(len(stuck) == 7 and all("AllGather" in one.name for one in stuck),
              f"AllGather #62 is open on seven ranks ({len(stuck)})")
        missing = {process for process, text in trace.processes.items() if text.startswith("rank 4 ")}
        check(len(missing) == 1 and not missing & {one.process for one in stuck}, "and not on rank 4")


def is_job(name):
    return name.split(" · ")[0] == "job"


def check_story(trace, name):
    kind, rank = {"never": ("HANG", 4), "io-rank0": ("STRAGGLER", 0), "nan-mesh": ("NAN", 1),
                  "nfs-write": ("STRAGGLER", 2), OLD: ("NAN", 5)}[name]
    of_job = [one for one in trace.slices if one.category == "finding"]
    of_rank = [one for one in trace.instants if one.category == "finding"]
    check(len(of_job) == 1 and of_job[0].name.startswith(kind + ": "),
          f"the job's findings: {[one.name for one in of_job]}")
    check([trace.processes[one.process].split(" · ")[0] for one in of_rank] == [f"rank {rank}"],
          "an instant on the rank that it names")
    bad = [values for (_, counter), values in trace.counters.items() if counter == "bad values found"]
    check(bool(bad) == (kind == "NAN"), f"{len(bad)} ranks count bad values")
    check(all(value >= 0 for values in trace.counters.values() for _, value in values), "no counter falls below 0")
    if name == "nfs-write":
        stood = [one for one in trace.slices if one.category == "thread" and one.name.startswith("write(")]
        check(stood
              and all(one.arguments["file"].endswith("/events.out.tfevents.2") and one.arguments["system call"] == 1
                      for one in stood),
              f"a thread stands in write(2) on its file: {[one.name for one in stood]}")


def steps_of(trace):
    """process → [(number, begin, end)], as they stand in the file"""
    steps = collections.defaultdict(list)
    for one in trace.slices:
        if one.category == "step":
            steps[one.process].append((int(one.name.removeprefix("step ")), one.begin, one.end))
    return steps


def check_steps(trace, operations, name):
    """Of each rank one behind the other, the last to the end of its record. Each begins when the rank's first operation
    of it reached the GPU, as the rank's own record has it; which operation that is, ranks agree on."""
    steps = steps_of(trace)
    ranks = {process: int(text.split(" · ")[0].removeprefix("rank ")) for process, text in trace.processes.items()
             if not is_job(text)}
    if not check(set(steps) == set(ranks), f"{name}: {sum(map(len, steps.values()))} steps, of each rank"):
        return
    check(all(a[0] + 1 == b[0] and a[2] == b[1] for of_rank in steps.values() for a, b in zip(of_rank, of_rank[1:])),
          "one behind the other")
    ends = {process: max(one.end for one in trace.slices if one.process == process and one.category != "step")
            for process in ranks}
    check(all(of_rank[-1][2] >= ends[process] for process, of_rank in steps.items()),
          "the last to the end of the record")
    reached = collections.defaultdict(lambda: collections.defaultdict(set))
    for one in operations:
        reached[one["rank"]][one.get("started_seen_ns", one.get("launched_ns"))].add(one.get("sequence"))
    first = collections.defaultdict(list)
    for process, of_rank in steps.items():
        for number, begin, _ in of_rank[1:]:
            first[number].append(reached[ranks[process]].get(begin, set()))
    if name == "nan-mesh":  # on several communicators at once, whose order on the GPU is each rank's own
        check(all(map(all, first.values())), "they begin with an operation")
    else:
        check(all(set.intersection(*found) for found in first.values()),
              f"with the same one on all ranks: {dict(first)}")


def check_one_rank(boxes, directory):
    one = directory / "one.json"
    done = run("--rank", "3", "-o", one, boxes)
    document = json.loads(one.read_text())
    names = [event["args"]["name"] for event in document["traceEvents"] if event["name"] == "process_name"]
    check(done.returncode == 0 and [name.split(" · ")[0] for name in names if not is_job(name)] == ["rank 3"],
          f"--rank: {names} {done.stderr}")
    check(document["distributedInfo"]["rank"] == 3, f"and says so: {document['distributedInfo']}")
    check(any(event.get("cat") == "step" for event in document["traceEvents"]),
          "with the steps that all ranks together tell")
    none = run("--rank", "77", "-o", directory / "none.json", boxes)
    check(none.returncode == 1 and "no box of rank 77" in none.stderr and not (directory / "none.json").exists(),
          "a rank that is not there is said")


def check_around(kind, whole, boxes, path):
    """--around: nothing but what reaches into the window, whole, and everything of that; the same streams and counts as
    in the whole trace."""
    at = next(one.begin for one in whole.slices if one.category == "finding")
    title = next(one.name for one in whole.slices if one.category == "finding").split(":")[0].lower()
    name = next(one.arguments["finding"] for one in whole.slices if one.category == "finding")
    reads = {"chrome": read_chrome, "perfetto": read_perfetto}[kind]
    for wanted, seconds in ((title, 1), (name, 2)):
        done = run("--around", wanted, "--seconds", str(seconds), "-o", path, boxes)
        check(done.returncode == 0 and f"{seconds} s before and after {wanted}" in done.stderr,
              f"--around {wanted}: {done.stderr.strip()}")
        part = reads(path)
        begin, end = at - seconds * 10**9, at + seconds * 10**9
        key = lambda trace, one: (trace.processes[one.process], trace.tracks[one.process, one.track], one.name,
                                  one.begin, one.end)
        inside = collections.Counter(key(whole, one) for one in whole.slices if one.category != "finding"
                                     and one.begin <= end and one.end >= begin)
        found = collections.Counter(key(part, one) for one in part.slices if one.category != "finding")
        check(found == inside and 0 < len(found) < len(whole.slices) / 2,
              f"{len(found)} slices of {len(whole.slices)}, those of the window")
        check([(one.begin, one.end) for one in part.slices
               if one.category == "finding"] == [(at,
                                                  min(end,
                                                      next(one.end for one in whole.slices
                                                           if one.category == "finding")))],
              "the finding, to the window's end at most")
        by_name = lambda trace: {(trace.processes[process], counter): sorted(values) for (process, counter),
                                 values in trace.counters.items()}
        for place, values in by_name(whole).items():
            before = [value for moment, value in values if moment < begin]
            now = [(moment, value) for moment, value in values if begin <= moment <= end]
            first = [(begin, before[-1])] if before and now[:1] != [(begin, now[0][1] if now else None)] else []
            check(by_name(part).get(place, []) == first + now, f"{place} counts what it counted")
    path.unlink()
    none = run("--around", "saturation", "-o", path, boxes)
    check(none.returncode == 1 and "no finding has this id or is of this kind" in none.stderr and name in none.stderr
          and not path.exists(), f"what is not there is said: {none.stderr}")


def check_processes(trace, operations):
    ranks = [text.split(" · ")[0] for _, text in sorted(trace.processes.items()) if not is_job(text)]
    check(ranks == [f"rank {rank}" for rank in sorted({one["rank"] for one in operations})],
          f"processes in order of ranks: {ranks}")
    share = [text for text in trace.processes.values() if is_job(text)]
    check(share == ["job · 8 of 8 ranks, from black boxes (level self)"], f"it says what it stands on: {share}")
    check(len(set(trace.tracks)) == len(trace.tracks) and all(trace.tracks.values()), "every track has a name")


def run(*arguments):
    return subprocess.run([RANKWATCH, "trace", *arguments], capture_output=True, text=True)


def check_chrome_head(trace):
    document = trace.document
    check(document["distributedInfo"] == {"backend": "nccl", "rank": 0, "world_size": 8},
          f"distributedInfo {document['distributedInfo']}")
    check(document["baseTimeNanoseconds"] > 1.7e18, "baseTimeNanoseconds is the begin of CLOCK_MONOTONIC")


def boxes_of(name, directory):
    boxes = directory / "boxes"
    unpack(name, boxes)
    return boxes


# Offsets in the header (include/rankwatch/blackbox.h), how much of a part is hit.
TOTAL_SIZE, COMMS, SAMPLES, RING = 32, 48, 64, 72
DAMAGED = 5  # sets of boxes in each run, of each job; the fuzzers draw many more
WORDS = (0, 1, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 1 << 62)


def damage(box, chance):
    """The box, unpacked, with some of its words replaced: in the header behind what is checked, the tables, the
    ring."""
    data = bytearray(gzip.open(box).read())
    place = {part: struct.unpack_from("<Q", data, part)[0] for part in (TOTAL_SIZE, COMMS, SAMPLES, RING)}
    data += bytes(max(0, place[TOTAL_SIZE] - len(data)))
    for _ in range(chance.choice((1, 10, 300))):
        begin, room = chance.choice(((place[RING], 60000), (place[RING], 4000), (place[COMMS], 4000),
                                     (place[SAMPLES], 4000), (96, 6000)))
        word = chance.choice((*WORDS, chance.getrandbits(64), chance.getrandbits(40)))
        struct.pack_into("<Q", data, begin + chance.randrange(0, room, 8), word)
    return data


def play_damaged(name, directory):
    seed = int(os.environ.get("RANKWATCH_TEST_SEED", random.SystemRandom().getrandbits(32)))
    print(f"INFO: Seed {seed}")
    chance = random.Random(seed)
    whole = sorted(boxes_of(name, directory).iterdir())
    boxes = directory / "damaged"
    boxes.mkdir()
    wrong = 0
    for _ in range(DAMAGED):
        for box in chance.sample(whole, 2):
            (boxes / box.name.removesuffix(".gz")).write_bytes(damage(box, chance))
        for kind in ("chrome", "perfetto"):
            path = directory / kind
            done = run("--format", kind, "-o", path, boxes)
            wrong += done.returncode not in (0, 1, 3) or (done.returncode == 1 and not done.stderr)
            if kind == "chrome" and done.returncode != 1:
                json.loads(path.read_text())
        for box in boxes.iterdir():
            box.unlink()
    check(not wrong, f"{name}: {wrong} of {2 * DAMAGED} traces of damaged boxes end in neither a trace nor a sentence")


def play(kind, name, directory):
    boxes = boxes_of(name, directory)
    path = directory / {"chrome": "job.json.gz", "perfetto": "job.pftrace"}[kind]
    done = run("-o", path, boxes)
    print(done.stderr.strip())
    if "lacks protobuf-c" in done.stderr:
        skip("built without protobuf-c")
    if not check(done.returncode == 0 and path.exists(), f"{name}: exit status {done.returncode}"):
        return
    check([child.name for child in directory.iterdir() if child != boxes] == [path.name], "no other file is left")
    trace = (read_chrome if kind == "chrome" else read_perfetto)(path)
    operations = dump(boxes)
    check_processes(trace, operations)
    check_nesting(trace)
    check_operations(trace, operations)
    check_flows(trace, operations)
    check_ends(trace, name)
    check_story(trace, name)
    check_steps(trace, operations, name)
    if kind == "chrome":
        check_chrome_head(trace)
        piped = run("--format", "chrome", "-o", "-", boxes)
        check(piped.returncode == 0 and json.loads(piped.stdout) == json.loads(gzip.open(path, "rt").read()),
              "through a pipe it is the same")
        if name == "io-rank0":
            check_one_rank(boxes, directory)
    if name in ("io-rank0", "never"):
        check_around(kind, trace, boxes, directory / ("part" + path.name.removeprefix("job")))


def main(kind, names):
    for name in names:
        with tempfile.TemporaryDirectory() as directory:
            if kind == "damaged":
                play_damaged(name, pathlib.Path(directory))
            else:
                play(kind, name, pathlib.Path(directory))
    finish()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
