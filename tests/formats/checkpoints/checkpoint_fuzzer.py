"""Mutated checkpoints, state files, records and meta graphs: read, or refused by the right error.

    python -m tests.formats.checkpoints.checkpoint_fuzzer KIND [--count 300000] [--seed 1]

Of a checkpoint a third of the mutations change bytes of a file; a third change bytes of the index
under right checksums; a third change its entries. Values that are read are never larger than the
files. The process may use 1 GiB of address space more than at the start, and a second per file.
"""

from __future__ import annotations

import argparse
import random
import resource
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

import gpugraph as tf
from gpugraph.formats.checkpoints.bundle_entries import HEADER_KEY
from gpugraph.formats.checkpoints.bundle_reader import BundleReader
from gpugraph.formats.checkpoints.bundle_writer import BundleWriter, merge_bundles
from gpugraph.formats.checkpoints.direct_restore import RestoreTarget, restore_into
from gpugraph.formats.checkpoints.slice_tables import write_slice_table
from gpugraph.formats.checkpoints.sorted_table import read_table, table_bytes
from gpugraph.formats.crc32c import masked_crc32c
from gpugraph.formats.tf_record import read_records, write_record
from tests.formats.checkpoints.snappy_blocks import table as compressed_table

REFUSALS = (tf.errors.DataLossError, tf.errors.InvalidArgumentError, tf.errors.NotFoundError)
NUMBERS = (0, 1, 2, 127, 128, 255, 1 << 20, (1 << 31) - 1, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 63)
_MORE = 1 << 30
_MOST_TIMES = 8 * 32
"""An int64 may be stored in one byte, and 32 bytes in one that is compressed."""
_SLOW = 1.0
"""Seconds that a file may take."""


def mutated(content: bytes, chance: random.Random, other: bytes = b"") -> bytes:
    """Return the bytes with some changed, left out, doubled, cut off, or those of another file."""
    data = bytearray(content)
    for _ in range(chance.choice((1, 1, 2, 5))):
        if not data:
            break
        where, kind = chance.randrange(len(data)), chance.randrange(7)
        length = chance.choice((1, 2, 8, 50))
        if kind == 0:
            data[where] = chance.randrange(256)
        elif kind == 1:
            data[where] ^= 1 << chance.randrange(8)
        elif kind == 2:
            del data[where : where + length]
        elif kind == 3:
            data[where:where] = data[where : where + length]
        elif kind == 4:
            del data[where:]
        elif kind == 5:
            data[where : where + length] = other[where : where + length]
        else:
            data[where : where + 1] = varint(chance.choice(NUMBERS))
    return bytes(data)


def varint(number: int) -> bytes:
    groups = bytearray()
    while number >= 0x80:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*groups, number))


# -- checkpoints


def checkpoints(folder: Path) -> list[dict[str, bytes]]:
    """Return the files of some checkpoints, by the part of the name after their prefix."""
    generator = np.random.default_rng(0)
    plain, parts, shards = (str(folder / name) for name in ("plain", "parts", "shards"))
    with BundleWriter(plain) as writer:
        for number, dtype in enumerate(("f4", "f8", "i8", "u1", "?", "c8", "f2")):
            writer.add(b"layer/%d" % number, generator.random((number, 3)).astype(dtype))
        writer.add(b"text", np.array([b"", b"abc", b"x" * 200], object))
        writer.add(b"scalar", np.array(7))
    with BundleWriter(parts) as writer:
        for start in (0, 2):
            part = ((start, 2), (0, -1))
            writer.add_slice(b"whole", (4, 3), part, generator.random((2, 3)))
    for number in range(2):
        with BundleWriter(f"{shards}-{number}") as writer:
            writer.add(b"v%d" % number, generator.random(20))
    merge_bundles([f"{shards}-0", f"{shards}-1"], shards)
    return [
        {
            path.name.removeprefix(Path(prefix).name): path.read_bytes()
            for path in folder.glob(f"{Path(prefix).name}.*")
        }
        for prefix in (plain, parts, shards)
    ]


def another_index(content: bytes, chance: random.Random) -> bytes:
    """Return an index with changed entries, keys or header, all checksums right."""
    items = read_table(content, "index")
    for _ in range(chance.choice((1, 1, 3))):
        key = chance.choice(list(items))
        kind = chance.randrange(5)
        if kind < 3:
            items[key] = mutated(items[key], chance, chance.choice(list(items.values())))
        elif kind == 3:
            items[mutated(key, chance)] = items.pop(key)
        else:
            items[key] = items[chance.choice(list(items))]
        if not items:
            items[HEADER_KEY] = b""
    return b"".join(table_bytes(sorted(items.items())))


def another_block(content: bytes, chance: random.Random) -> bytes:
    """Return an index one of whose blocks has changed bytes, its length and a right checksum."""
    end = len(content) - 48
    items = read_table(content, "index")
    blocks, start = [], 0
    for block in table_bytes(sorted(items.items())):
        if start < end:
            blocks.append((start, start + len(block)))
        start += len(block)
    first, last = chance.choice(blocks)
    body = bytearray(content[first : last - 4])
    for _ in range(chance.choice((1, 1, 3))):
        body[chance.randrange(len(body))] = chance.choice((0, 1, 2, 0x7F, 0x80, 0xFF))
    checksum = struct.pack("<I", masked_crc32c(bytes(body)))
    return content[:first] + bytes(body) + checksum + content[last:]


def read_values(prefix: str, size: int) -> str:
    """Return the outcome for a checkpoint whose values take at most `size` bytes."""
    reader = tf.train.NewCheckpointReader(prefix)
    reader.debug_string()
    shapes = reader.get_variable_to_shape_map()
    refusals, total = set(), 0
    for name in shapes:
        try:
            value = reader.get_tensor(name)
        except REFUSALS as error:
            refusals.add(type(error).__name__)
            continue
        if isinstance(value, np.ndarray):
            total += sum(map(len, value.flat)) if value.dtype == object else value.nbytes
    assert total <= size, f"{total} bytes are read of {size}"
    return f"in part, {sorted(refusals)[0]}" if refusals else "read"


def read_checkpoint(prefix: str, size: int) -> str:
    """Return the outcome for a checkpoint of `size` bytes."""
    outcome = read_values(prefix, size)
    with BundleReader(prefix) as bundle:
        entry = bundle.entries.get("layer/2")
        if entry is not None and entry.shape == (2, 3) and entry.dtype is tf.int64:
            restore_into(bundle, [RestoreTarget("layer/2", None, np.zeros((2, 3), np.int64))])
        if "whole" in bundle.entries:
            bundle.read_slice("whole", (4, 3), ((1, 2), (0, -1)))
    return outcome


def bundles(folder: Path) -> Callable[[random.Random], str]:
    """Return a function that mutates a checkpoint and reads it."""
    seeds = checkpoints(folder)
    prefix = folder / "model"

    def one(chance: random.Random) -> str:
        files = dict(chance.choice(seeds))
        others = chance.choice(seeds)
        kind = chance.randrange(3)
        if kind == 0:
            name = chance.choice(list(files))
            files[name] = mutated(files[name], chance, others.get(name, b""))
            if chance.random() < 0.02:
                del files[name]
        elif kind == 1:
            files[".index"] = another_block(files[".index"], chance)
        else:
            files[".index"] = another_index(files[".index"], chance)
        for path in folder.glob("model.*"):
            path.unlink()
        for name, content in files.items():
            Path(f"{prefix}{name}").write_bytes(content)
        return read_checkpoint(str(prefix), sum(map(len, files.values())))

    return one


def tables(folder: Path) -> Callable[[random.Random], str]:
    """Return a function that mutates a V1 checkpoint, half of them compressed, and reads it."""
    path = folder / "v1"
    whole = np.arange(12.0).reshape(4, 3)
    items = [(b"whole", ((4, 3), ((n, 2), (0, -1))), whole[n : n + 2], tf.float64) for n in (0, 2)]
    items += [(b"n", None, np.zeros(99, np.int64), tf.int64)]
    items += [(b"text", None, np.array([b"abc"] * 9, object), tf.string)]
    write_slice_table(str(path), items)
    plain = path.read_bytes()
    rows = list(read_table(plain, "table").items())

    def one(chance: random.Random) -> str:
        kind = chance.randrange(3)
        if kind == 0:
            content = mutated(chance.choice((plain, compressed_table(rows))), chance, plain[::-1])
        elif kind == 1:
            content = another_index(plain, chance)
        else:
            content = compressed_table(rows, change=lambda body: mutated(body, chance, plain))
        path.write_bytes(content)
        return read_values(str(path), _MOST_TIMES * len(content))

    return one


# -- state files, records, meta graphs


def states(folder: Path) -> Callable[[random.Random], str]:
    """Return a function that mutates a state file and looks for the latest checkpoint."""
    tf.train.update_checkpoint_state(
        str(folder), "model-2", ["model-1", "model-2"], None, [1.5, 2.5], 1.0
    )
    path = folder / "checkpoint"
    whole = path.read_bytes()
    pieces = [b'"', b"\\", b"\\x", b"[", b"]", b"{", b"#", b"\0", b"\xff", b"1e999", b"..", b":"]
    pieces += [b"model_checkpoint_path: ", b"'\\777'", b"all_model_checkpoint_paths", b"\n", b"*?["]

    def one(chance: random.Random) -> str:
        content = mutated(whole, chance, whole[::-1])
        if chance.random() < 0.5:
            where = chance.randrange(len(content) + 1)
            content = content[:where] + chance.choice(pieces) + content[where:]
        path.write_bytes(content)
        try:
            latest = tf.train.latest_checkpoint(str(folder))
        except ValueError as error:
            assert "Invalid checkpoint state" in str(error)
            return "no path"
        state = tf.train.get_checkpoint_state(str(folder))
        return f"state {state is not None}, latest {latest is not None}"

    return one


def records(folder: Path) -> Callable[[random.Random], str]:
    """Return a function that mutates an event file and reads its records and events."""
    path = folder / "events"
    event = tf.Event(wall_time=1.0, step=2, file_version="brain.Event:2").SerializeToString()
    summary = tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)])
    with open(path, "wb") as file:
        write_record(file, event)
        write_record(file, tf.Event(step=3, summary=summary).SerializeToString())
        write_record(file, b"")
    whole = path.read_bytes()

    def one(chance: random.Random) -> str:
        if chance.random() < 0.5:
            path.write_bytes(mutated(whole, chance, whole[7:]))
        else:
            with open(path, "wb") as file:
                write_record(file, mutated(event, chance, whole))
                write_record(file, b"x" * chance.randrange(3))
        try:
            with open(path, "rb") as file:
                size = sum(map(len, read_records(file, path)))
            assert size <= path.stat().st_size
        finally:
            count = sum(1 for _ in tf.train.summary_iterator(str(path)))
        return f"{count} events"

    return one


def metas(folder: Path) -> Callable[[random.Random], str]:
    """Return a function that mutates a meta graph with its saver and imports it from its file."""
    with tf.Graph().as_default():
        tf.get_variable("v", [2], tf.float32)
        tf.train.Saver()
        whole = tf.train.export_meta_graph().SerializeToString()
    path = folder / "model.meta"

    def one(chance: random.Random) -> str:
        path.write_bytes(mutated(whole, chance, whole[100:]))
        with tf.Graph().as_default():
            try:
                saver = tf.train.import_meta_graph(str(path))
            except (ValueError, TypeError, KeyError, OSError) as error:
                return type(error).__name__
        return "no saver" if saver is None else "imported"

    return one


KINDS = {"bundles": bundles, "states": states, "records": records, "metas": metas, "tables": tables}


def fuzz(kind: str, count: int, seed: int, folder: Path) -> tuple[Counter[str], list[str]]:
    """Return the outcomes of `count` files, and the faults: other errors, and files that take
    long.
    """
    chance = random.Random(seed)
    one = KINDS[kind](folder)
    outcomes: Counter[str] = Counter()
    faults: list[str] = []
    for number in range(count):
        start = time.process_time()
        try:
            outcomes[one(chance)] += 1
        except REFUSALS as error:
            outcomes[type(error).__name__] += 1
        except Exception as error:  # whatever is no refusal is a fault
            faults.append(f"file {number} of seed {seed}: {type(error).__name__}: {error}"[:500])
        if time.process_time() - start > _SLOW:
            faults.append(f"file {number} of seed {seed} takes long")
    return outcomes, faults


def main() -> int:
    """Mutates many files, under a limit of memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--count", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tf.logging.set_verbosity("FATAL")
    with open("/proc/self/statm", encoding="ascii") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + _MORE
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    with tempfile.TemporaryDirectory() as folder:
        outcomes, faults = fuzz(options.kind, options.count, options.seed, Path(folder))
    for name, times in outcomes.most_common():
        print(f"{times:8} {name}")
    print(*faults[:30], sep="\n")
    print(f"{options.count} files, {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
