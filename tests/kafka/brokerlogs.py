#!/usr/bin/env python3
"""What brokers have written of transactions, by their segment files.

A producer that goes on after an abort may have its next batch taken for one that was aborted: the
commit then commits nothing. So no partition may have a commit
- without a batch of its producer since the last marker, unless that was a commit, too: brokers
  write markers again;
- after an abort of the same producer and epoch, but for that of a mark, which was answered.

brokerlogs.py self-test    each of these is noticed
"""

import struct
import tempfile
from collections import Counter, namedtuple
from pathlib import Path

HEAD = struct.Struct(">qiibIhiqqqhii")
TRANSACTIONAL, CONTROL = 0x10, 0x20  # bits of the attributes
ABORT, COMMIT = 0, 1
# The only record of a batch, whose key is empty and which has no value: the end of the state.
MARK = b"\x0c\0\0\0\0\1\0"
NAMES = {ABORT: "ABORT", COMMIT: "COMMIT"}

Batch = namedtuple("Batch", "offset pid epoch records marker text")


def batches(partition):
    """Those of transactions in a partition's folder, and the markers, which have no records."""
    for file in sorted(partition.glob("*.log")):
        data, at = file.read_bytes(), 0
        while at + HEAD.size <= len(data):
            (offset, size, _, _, _, attributes, _, _, _, pid, epoch, _,
             records) = HEAD.unpack_from(data, at)  # fmt: skip
            begin, at = at + HEAD.size, at + 12 + size
            if size <= 0 or at > len(data):
                break  # a broker was killed while it wrote
            if not attributes & TRANSACTIONAL:
                continue
            marker = None
            if attributes & CONTROL:
                # Five bytes of lengths and differences, and a version.
                records, (marker,) = 0, struct.unpack_from(">h", data, begin + 7)
            yield Batch(offset, pid, epoch, records, marker, data[begin:at])


def cleaned(broker):
    """name of a partition: the offset up to which compaction has removed records."""
    lines = (broker / "cleaner-offset-checkpoint").read_text().splitlines()[2:]
    return {f"{topic}-{number}": int(offset) for topic, number, offset in map(str.split, lines)}


class Scan:
    """Of all brokers, each of which has its own copy. REQUIRES: none of them runs."""

    def __init__(self, folder, topics):
        self.counts, self.wrong, self.committed = Counter(), [], Counter()
        for broker in sorted(folder.glob("broker-[0-9]")):
            ends = cleaned(broker)
            for topic in topics:
                for partition in sorted(broker.glob(f"{topic}-*")):
                    self.counts["copies"] += 1
                    self._look(broker.name, partition, ends.get(partition.name, 0))

    def _look(self, broker, partition, begin):
        # Of pids; of pids and epochs.
        records, marks, last, committed = Counter(), Counter(), {}, 0
        for batch in batches(partition):
            if batch.offset < begin:
                continue
            if batch.marker is None:
                records[batch.pid] += batch.records
                marks[batch.pid] += batch.text == MARK
                self.counts["batches"] += 1
                continue
            written, before = records.pop(batch.pid, 0), last.get(batch[1:3])
            self.counts[NAMES[batch.marker]] += 1
            if marks.pop(batch.pid, 0) == written == 1 and batch.marker == ABORT:
                continue
            last[batch[1:3]] = batch.marker
            if batch.marker == ABORT:
                continue
            committed += written
            where = f"{broker}: {partition.name} at {batch.offset}: COMMIT of producer " \
                f"{batch.pid}, epoch {batch.epoch}, "  # fmt: skip
            if before == ABORT:
                self.wrong.append(f"{where}after an ABORT, of {written} records")
            elif not written and before is None and begin == 0:
                self.wrong.append(f"{where}without a batch")
        # Of a copy that is behind, less.
        self.committed[partition.name] = max(self.committed[partition.name], committed)

    def told(self):
        return ("{batches:,} batches, {COMMIT:,} commits and {ABORT:,} aborts in "
                "{copies} copies of partitions").format_map(self.counts)  # fmt: skip


# ---- does it notice? ---------------------------------------------------------------------------


def written(offset, pid, epoch, marker=None, text=b"", records=2):
    if marker is not None:
        text, records = struct.pack(">5bhh", 0, 0, 0, 0, 8, 0, marker), 1
    attributes = TRANSACTIONAL | (0 if marker is None else CONTROL)
    return HEAD.pack(offset, HEAD.size - 12 + len(text), 0, 2, 0, attributes, records - 1, 0, 0,
                     pid, epoch, -1, records) + text  # fmt: skip


def scanOf(*batchesOf, cleanedTo=0):
    """Of a broker with one partition, whose last batch was cut short."""
    with tempfile.TemporaryDirectory() as folder:
        partition = Path(folder) / "broker-1" / "t-0"
        partition.mkdir(parents=True)
        (partition.parent / "cleaner-offset-checkpoint").write_text(f"0\n1\nt 0 {cleanedTo}\n")
        texts = [written(offset, *batch) for offset, batch in enumerate(batchesOf)]
        (partition / "0.log").write_bytes(b"".join(texts) + written(99, 1, 0)[:-5])
        return Scan(Path(folder), ["t"])


def selfTest():
    first, again = (1, 0), (1, 1)  # a producer, and its next epoch
    begun, ended, dropped = (*first, None), (*first, COMMIT), (*first, ABORT)
    for what, story, cleanedTo, wanted in (
        ("what is right", (begun, ended, ended, begun, dropped, again, (*again, COMMIT)), 0, None),
        ("two producers", (begun, (2, 0), dropped, (2, 0, COMMIT)), 0, None),
        ("a fence, by the next epoch", (begun, (*again, ABORT), (1, 2), (1, 2, COMMIT)), 0, None),
        ("what compaction has removed", (begun, ended, ended), 2, None),
        ("a sequence used twice", (begun, dropped, ended), 0, "after an ABORT, of 0"),
        ("a mark", ((*first, None, MARK, 1), dropped, begun, ended), 0, None),
        ("a mark and more", ((*first, None, MARK, 1), begun, dropped, begun, ended), 0, "after an"),
        ("a producer that goes on", (begun, dropped, begun, ended), 0, "after an ABORT, of 2"),
        ("nothing that is committed", (ended,), 0, "without a batch"),
        ("nothing of this epoch", (begun, dropped, (*again, COMMIT)), 0, "without a batch"),
    ):
        found = scanOf(*story, cleanedTo=cleanedTo).wrong
        assert wanted in " ".join(found) if wanted else not found, f"{what}: {found}"
    scan = scanOf(begun, dropped, again, (*again, COMMIT), begun)
    assert (scan.committed["t-0"], scan.counts["batches"]) == (2, 3), (scan.committed, scan.counts)


if __name__ == "__main__":
    selfTest()
