"""Pretty printers for gdb: the state and the deadline of a Timeout or a TimerHook, what is pending
in a TimingWheel, and in the wheels of a SystemTimer, LoopTimer or ManualTimer.

    (gdb) print session->idle
    $1 = pending, due at tick 1500, 4321.500000000 s of its clock
    (gdb) print wheel
    $2 = tick 7, 3 pending: 2 on level 0, 1 on level 1

gdb loads this file by itself, with the shared library, where it finds it in its `auto-load
scripts-directory`: if both are installed below /usr, for instance. Otherwise, and for a static
library, write `source <this file>` into ~/.gdbinit. Ticks are shown where the library has no debug
information; the times, and timers, need it. What cannot be read is shown as unreadable.
"""

import struct

import gdb
import gdb.printing

# As in TimeoutState of src/core/timeout/TimeoutWord.h.
STATES = ("never scheduled", "pending", "pending (ready)", "pending (taken)", "pending (queued)",
          "handed over", "running", "expired", "cancelled", "cancelled", "returned",
          "rejected")  # fmt: skip
# As in RawTimingWheel, BucketRing and TimerTaskList: larger numbers are those of something else.
MOST_LEVELS, MOST_SLOTS, RING, BUCKET, LANES = 64, 1 << 20, 64, struct.Struct("=qqqII"), 8
MOST = 100_000  # entries of a list: a broken one has no end


def lying(value, kind):
    """What lies where a member is: the number of an atomic, the pointer of a smart one."""
    return value.address.cast(kind.pointer()).dereference()


def elements(vector):
    """Of a std::vector, by its first two pointers."""
    kind = vector.type.strip_typedefs().template_argument(0)
    first = vector.address.cast(kind.pointer().pointer())
    if not 0 <= (count := int(first[1] - first[0])) <= MOST_LEVELS:
        raise ValueError(f"{count} elements")
    return [first[0][i] for i in range(count)]


def word(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8), "little")


def length(sentinel):
    """How many entries a circular list has."""
    node, count = word(sentinel), 0
    while node != sentinel:
        if (count := count + 1) > MOST:
            raise ValueError(f"more than {MOST:,} entries in a list")
        node = word(node)
    return count


def inBuckets(address, count):
    """How many entries stand in so many buckets."""
    memory, entries = gdb.selected_inferior().read_memory(address, count * BUCKET.size), 0
    for i, (first, _, _, _, lanes) in enumerate(BUCKET.iter_unpack(memory)):
        bucket = address + i * BUCKET.size
        entries += length(bucket) if first != bucket else 0
        entries += sum(length(bucket + lanes + 16 * lane) for lane in range(LANES if lanes else 0))
    return entries


def showEntry(entry):
    bits = int(lying(entry["word_"], gdb.lookup_type("long")))
    if (state := STATES[bits & 15]) == STATES[0]:
        return state
    try:
        keeper = gdb.lookup_type("timingwheel::v1::detail::Keeper").pointer()
        scale = lying(entry["keeper"], keeper).dereference()["context_"]["scale"]
        time = int(scale["origin_"]) + (bits >> 4) * int(scale["tick_"])
        clock = f", {time // 10**9}.{time % 10**9:09} s of its clock"
    except gdb.error:  # the library has no debug information, or the entry no keeper
        clock = ""
    return f"{state}, due at tick {bits >> 4}{clock}"


def showTimeout(timeout):
    node = timeout["node_"]
    if int(node) == 0:
        return "empty"
    # The node begins with it, and may be of a type that only the library knows.
    entry = gdb.lookup_type("timingwheel::v1::detail::TimeoutEntry").pointer()
    return showEntry(node.cast(entry).dereference())


def showWheel(wheel):
    wheel = wheel["raw_"] if wheel.type.strip_typedefs().name.endswith(">") else wheel
    pending = []
    for level in elements(wheel["levels_"]):
        ring = int(lying(level["ring_"], gdb.lookup_type("long")))
        if not 0 < (slots := word(ring + 16)) <= MOST_SLOTS:  # size_
            raise ValueError(f"{slots} slots")
        pending.append(inBuckets(ring + RING, slots))
    where = [f"{count} on level {i}" for i, count in enumerate(pending) if count]
    # What an advance, or a clock that was set back, has taken out of its bucket.
    moved = sum(inBuckets(int(wheel[taken]["own_"].address), 1)
                for taken in ("flushed_", "gathered_"))  # fmt: skip
    where += [f"{moved} on their way"] if moved else []
    colon = ": " if where else ""
    return f"tick {int(wheel['clock_'])}, {sum(pending) + moved} pending{colon}{', '.join(where)}"


def shards(timer):
    kind = "timingwheel::v1::detail::Shard"
    return [lying(shard, gdb.lookup_type(kind).pointer()).dereference()
            for shard in elements(timer["core_"].dereference()["shards_"])]  # fmt: skip


def showTimer(timer):
    pending = [int(shard["tasks_"]["pending"]) for shard in shards(timer)]
    return f"{sum(pending)} pending in {len(pending)} shards"


class Printer:
    def __init__(self, value, show):
        isReference = value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
        self.value, self.show = value.referenced_value() if isReference else value, show

    def to_string(self):
        try:
            return self.show(self.value)
        except Exception as error:  # whatever lies there, gdb goes on
            return f"unreadable: {error}"

    def children(self):
        """The wheels of a timer that hold something."""
        try:
            for i, shard in enumerate(shards(self.value) if self.show is showTimer else ()):
                if int(shard["tasks_"]["pending"]):
                    yield f"wheel of shard {i}", shard["book_"]["data_"]["wheel_"]
        except Exception:  # to_string() says so
            return


def register():
    printers = gdb.printing.RegexpCollectionPrettyPrinter("timingwheel")
    for names, show in (("Timeout", showTimeout),
                        ("TimerHook(Base|<.*>)", lambda hook: showEntry(hook["entry_"])),
                        ("RawTimingWheel|TimingWheel<.*>", showWheel),
                        ("(Wheel|System|Loop|Manual)Timer", showTimer)):  # fmt: skip
        printers.add_printer(names, f"^timingwheel::v1::({names})$",
                             lambda value, show=show: Printer(value, show))  # fmt: skip
    gdb.printing.register_pretty_printer(None, printers, replace=True)


register()
