"""What clients of several hosts saw of a machine, and what it contradicts of what is promised."""
import bisect
import json
from dataclasses import dataclass, field

# What has become of a set, for the client that asked for it.
DONE, REFUSED, UNSURE = "done", "refused", "unsure"


@dataclass
class Set:
    """One set: who asked at which host, when it was sent and answered by one clock for all, and the answer."""

    id: str
    host: str
    begun: float
    ended: float = float("inf")
    outcome: str = UNSURE
    seq: int = 0
    error: str = ""


@dataclass
class Seen:
    """All that clients saw."""

    sets: list = field(default_factory=list)
    # Of each host the lines of changes that its watch has shown, by seq, as they came.
    streams: dict = field(default_factory=dict)
    # Of each host those that its watch could not show, as the daemon was not there: from, to.
    gaps: dict = field(default_factory=dict)
    # Sentences about lines that should not have come.
    strange: list = field(default_factory=list)


def violations(seen):
    """A sentence for each contradiction; O(n log n): seq is the witness of the order."""
    yield from seen.strange
    log, by_id = {}, {}
    for host, lines in seen.streams.items():
        for seq, line in lines.items():
            if log.setdefault(seq, line) != line:
                yield f"change {seq} is other at {host}: {line.decode()} and not {log[seq].decode()}"
    last = max(log, default=0)
    for host, lines in seen.streams.items():
        gaps = seen.gaps.get(host, [])
        missing = [seq for seq in range(1, last + 1) if seq not in lines and not any(begin <= seq <= end for begin, end in gaps)]
        if missing:
            yield f"{host} has not shown {len(missing)} changes, the first of them {missing[0]}"
    for seq, line in sorted(log.items()):
        change = json.loads(line)
        found = (seq, change["by"]["host"])
        if by_id.setdefault(change["data"]["id"], found) != found:
            yield f"{change['data']['id']} is there twice, as {by_id[change['data']['id']][0]} and {seq}"
    yield from outcomes(seen.sets, by_id)
    yield from disorder(seen.sets)


def outcomes(sets, by_id):
    """Whether what was answered has become of each set."""
    asked = {each.id for each in sets}
    for stranger in by_id.keys() - asked:
        yield f"nobody has asked for {stranger}, change {by_id[stranger][0]}"
    for each in sets:
        found = by_id.get(each.id)
        if each.outcome == DONE and found != (each.seq, each.host):
            yield f"{each.id} was answered with {each.seq} at {each.host}, and is {found}"
        if each.outcome == REFUSED and found:
            yield f"{each.id} was refused ({each.error}) and is change {found[0]}"


def disorder(sets):
    """Sets that ended before others began, and have the larger seq."""
    done = sorted((each for each in sets if each.outcome == DONE), key=lambda each: each.ended)
    ends, newest = [each.ended for each in done], []
    for each in done:
        newest.append(each if not newest or each.seq > newest[-1].seq else newest[-1])
    for each in done:
        before = bisect.bisect_left(ends, each.begun)
        if before and newest[before - 1].seq > each.seq:
            earlier = newest[before - 1]
            yield f"{earlier.id} had ended as {earlier.seq} before {each.id} began, which is {each.seq}"


def happened(seen):
    """How many sets of unknown outcome there are, and how many of them were made."""
    ids = {json.loads(line)["data"]["id"] for lines in seen.streams.values() for line in lines.values()}
    unsure = [each for each in seen.sets if each.outcome == UNSURE]
    return len(unsure), sum(each.id in ids for each in unsure)
