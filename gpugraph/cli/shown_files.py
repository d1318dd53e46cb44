"""The content of HDF5 files, `.keras` files and record files, for `gpugraph show`."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from gpugraph.base.whole_files import open_to_read, system_errors
from gpugraph.formats import messages_pb2
from gpugraph.formats.tf_record import read_records
from gpugraph.library.keras.saving.hdf5_groups import opened_file
from gpugraph.library.summary.summary_iterator import summary_iterator
from gpugraph.memory import human_readable_bytes

Section = tuple[str, list[str]]
Content = tuple[str, list[Section]]
"""A title, and sections of lines."""

_SIZES = ("units", "filters", "kernel_size", "rate", "pool_size", "input_dim", "output_dim")
_EVENT = b"brain.Event:"


def known_file(path: str, beginning: bytes) -> Callable[[str], Content] | None:
    """Return the function that reads files with these first bytes, or None if there is none."""
    if beginning.startswith(b"\x89HDF\r\n\x1a\n"):
        return _hdf5_file
    if beginning.startswith(b"PK\x03\x04") and path.endswith(".keras"):
        return _keras_file
    if _EVENT in beginning[:64]:
        return _event_file
    if len(beginning) > 12 and beginning[4:8] == bytes(4) and not path.endswith(".pb"):
        return _record_file
    return None


def _hdf5_file(path: str) -> Content:
    """Return the model and the arrays of an HDF5 file. Raises OSError if the file is damaged."""
    with opened_file(path) as file:
        sections = []
        if "model_config" in file.attrs:
            sections.append(_model(json.loads(_text(file.attrs["model_config"]))))
        if "training_config" in file.attrs:
            sections.append(_training(json.loads(_text(file.attrs["training_config"]))))
        return f"HDF5 file {path}", [*sections, _arrays(file)]


def _keras_file(path: str) -> Content:
    """Return the model and the arrays of a file written by Keras 3. Raises ValueError if the file
    is damaged.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            sections = [_model(json.loads(archive.read("config.json")))]
            lines = [f"{name}  {archive.getinfo(name).file_size} bytes" for name in names]
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        raise ValueError(f"{path} is no .keras file: {error}") from error
    return f".keras file {path}", [*sections, (f"files: {len(names)}", lines)]


def _event_file(path: str) -> Content:
    """Return the summaries of an event file: for each tag, the number of values and the range of
    steps.
    """
    count, steps, tags = 0, set(), Counter[str]()
    last: dict[str, str] = {}
    for event in summary_iterator(path):
        count += 1
        for value in event.summary.value:
            steps.add(event.step)
            tags[value.tag] += 1
            kind = value.WhichOneof("value") or "nothing"
            number = f", last {value.simple_value:g}" if kind == "simple_value" else ""
            last[value.tag] = f"{kind}{number}"
    extent = f", steps {min(steps)} to {max(steps)}" if steps else ""
    lines = [f"{tag}  {number} values  {last[tag]}" for tag, number in sorted(tags.items())]
    title = f"event file {path}, {count} events{extent}"
    return title, [(f"summaries: {len(tags)} tags", lines)]


def _record_file(path: str) -> Content:
    """Return the number of records of a TFRecord file, and the features of its first Example."""
    sizes, first = [], b""
    with system_errors(path), open_to_read(path) as source:
        for record in read_records(source, path):
            first = first or record
            sizes.append(len(record))
    size = human_readable_bytes(sum(sizes))
    title = f"TFRecord file {path}, {len(sizes)} records, {size}"
    features = list(_features(first))
    return title, [("features of the first Example", features)] if features else []


def _features(record: bytes) -> Iterator[str]:
    """Yield a line for each feature of a serialized Example. Yield nothing if the record is not an
    Example.
    """
    try:
        example = messages_pb2.parse_message(messages_pb2.Example, record)
    except ValueError:
        return
    for name in sorted(example.features.feature):
        feature = example.features.feature[name]
        kind = feature.WhichOneof("kind")
        count = len(getattr(feature, kind).value) if kind else 0
        yield f"{name}  {kind or 'no values'}  {count}"


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _model(config: dict[str, Any]) -> Section:
    """Return a section with a line for each layer of a model's configuration."""
    inner = config.get("config", {})
    layers = inner if isinstance(inner, list) else inner.get("layers", [])
    lines = []
    for layer in layers:
        values = layer.get("config", {})
        sizes = [f"{key} {values[key]}" for key in _SIZES if key in values]
        sizes += [str(values["activation"])] if isinstance(values.get("activation"), str) else []
        lines.append(f"{values.get('name', layer.get('name'))} ({layer.get('class_name')})  "
                     f"{', '.join(sizes)}")  # fmt: skip
    return f"model {config.get('class_name')}: {len(layers)} layers", lines


def _training(config: dict[str, Any]) -> Section:
    optimizer = config.get("optimizer_config", {}).get("class_name")
    facts = [f"optimizer {optimizer}", f"loss {config.get('loss')}"]
    return "compiled with", facts


def _arrays(file: Any) -> Section:
    """Return a section with a line for each array of an HDF5 file."""
    rows: list[tuple[str, str, str, int]] = []

    def visit(name: str, part: Any) -> None:
        if hasattr(part, "dtype") and hasattr(part, "shape"):
            rows.append((name, str(part.dtype), str(list(part.shape or ())), part.nbytes))

    file.visititems(visit)
    width = max((len(row[0]) for row in rows), default=0)
    lines = [f"{name.ljust(width)}  {dtype:10} {shape}" for name, dtype, shape, _ in rows]
    return f"arrays: {len(rows)}, {human_readable_bytes(sum(row[3] for row in rows))}", lines
