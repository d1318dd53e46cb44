"""Device names: parsing, merging and matching.

A full name is `/job:worker/replica:0/task:1/device:GPU:2`; a name that leaves fields out asks for
any value there, and so does `*`. `/gpu:2` and `/cpu:0` are the old spelling of the last part.
Names are strings at every border and `DeviceSpec`s for users (TensorFlow 1's, which change, and
`DeviceSpecV2`, which do not); inside this module they are `_Fields`, immutable, parsed once per
text and cached, because placement asks the same few questions for every node.

How two requests meet depends on who asks: `merge_specs` lets the inner one win field by field
(nested `tf.device`); `combine_specs` refuses a conflict (nodes that must share a device).
Follows TensorFlow's python/framework/device_spec.py and core/util/device_name_utils.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gpugraph.base.errors import invalid_argument

_CACHE_SIZE = 4096


class _Fields(NamedTuple):
    """The five parts of a name; None where any value will do."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def over(self, outer: _Fields) -> _Fields:
        """These fields, and those of `outer` where they say nothing."""
        fields = {key: value for key, value in self._asdict().items() if value is not None}
        return outer._replace(**fields)

    def within(self, narrow: _Fields) -> bool:
        """Whether whatever is called `narrow` is what these fields ask for."""
        return all(a is None or a == b for a, b in zip(self, narrow, strict=True))

    @property
    def text(self) -> str:
        text = "" if self.job is None else f"/job:{self.job}"
        if self.replica is not None:
            text += f"/replica:{self.replica}"
        if self.task is not None:
            text += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            text += f"/device:{self.device_type}:{index}"
        return text


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _int_or_none(value: Any) -> int | None:
    if value is None:
        return None
    try:
        return int(value)
    except OverflowError as error:
        raise ValueError(f"{value} is no index of a device: {error}") from None


def _type_or_none(value: object) -> str | None:
    """`cpu` and `gpu` may be written small; other types are kept as they are."""
    text = _text_or_none(value)
    return text.upper() if text is not None and text.lower() in ("cpu", "gpu") else text


def _field(name: str, doc: str) -> Any:
    """The property of a `DeviceSpecV2` for one of its fields."""
    return property(lambda spec: getattr(spec._fields, name), doc=doc)


def _settable(name: str, convert: Callable[[Any], Any]) -> Any:
    """The property of a `DeviceSpec` for one of its fields, which may be set."""

    def assign(spec: DeviceSpec, value: Any) -> None:
        spec._fields = spec._fields._replace(**{name: convert(value)})

    inherited: property = getattr(DeviceSpecV2, name)
    return inherited.setter(assign)


_Spec = TypeVar("_Spec", bound="DeviceSpecV2")


class DeviceSpecV2:
    """A possibly partial device that does not change: `tf.compat.v2.DeviceSpec`.

    Fields left None ask for nothing. Parsing raises ValueError for an unknown part, a number
    that is none, and two device types. AttributeError for a field that is set.
    """

    __slots__ = ("_fields",)

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self._fields = _Fields(
            _text_or_none(job),
            _int_or_none(replica),
            _int_or_none(task),
            _type_or_none(device_type),
            _int_or_none(device_index),
        )

    @classmethod
    def from_string(cls: type[_Spec], spec: str | None) -> _Spec:
        """A spec from a name such as `"/job:ps/task:1/gpu:0"`; None and `""` are empty."""
        return cls(*_parse(spec or ""))

    job = _field("job", "The job's name, or None.")
    replica = _field("replica", "The replica's number, or None.")
    task = _field("task", "The task's number, or None.")
    device_type = _field("device_type", 'The type, such as `"GPU"`, or None.')
    device_index = _field("device_index", "The number among its type, or None.")

    def parse_from_string(self: _Spec, spec: str | None) -> _Spec:
        """A spec of the name's fields, as `from_string` gives it."""
        return type(self).from_string(spec)

    def to_string(self) -> str:
        """The name, e.g. `"/job:ps/task:1/device:GPU:0"`; an index without a type is left out."""
        return self._fields.text

    def make_merged_spec(self: _Spec, dev: DeviceSpecV2) -> _Spec:
        """A new spec: the fields of `dev`, and of this one where `dev` sets none."""
        return type(self)(*dev._fields.over(self._fields))

    def replace(self: _Spec, **kwargs: Any) -> _Spec:
        """A new spec with some fields changed. TypeError for a name that is no field."""
        return type(self)(**{**self._fields._asdict(), **kwargs})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceSpecV2):
            return NotImplemented
        return self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self._fields)

    def __repr__(self) -> str:
        fields = ", ".join(f"{key}={value}" for key, value in self._fields._asdict().items())
        return f"<DeviceSpec({fields})>"


class DeviceSpec(DeviceSpecV2):
    """A possibly partial device: job, replica, task, device type and device index.

    Fields left None ask for nothing. Parsing raises ValueError for an unknown part, a number
    that is none, and two device types.
    """

    __slots__ = ()

    job = _settable("job", _text_or_none)
    replica = _settable("replica", _int_or_none)
    task = _settable("task", _int_or_none)
    device_type = _settable("device_type", _type_or_none)
    device_index = _settable("device_index", _int_or_none)

    def parse_from_string(self, spec: str | None) -> DeviceSpec:
        """Sets all fields from a name, as `from_string` does, and returns this spec."""
        self._fields = _parse(spec or "")
        return self

    def merge_from(self, dev: DeviceSpecV2) -> None:
        """Takes over each field that `dev` sets."""
        self._fields = dev._fields.over(self._fields)


Name: TypeAlias = str | DeviceSpecV2 | None


def canonical_name(device: Name) -> str:
    """The name in its one spelling: `"/gpu:1"` becomes `"/device:GPU:1"`, None becomes `""`.

    Raises ValueError for what is no device name, as every function here.
    """
    return _fields_of(device).text


def check_valid(spec: str) -> None:
    """Raises ValueError when `spec` is no device name."""
    _parse(spec)


def check_placeable(spec: str) -> None:
    """Raises ValueError when `spec` is no device name, or has a negative number.

    `tf.device` takes such a number, as TensorFlow's does; no session can place what has it.
    """
    fields = _parse(spec)
    for number in (fields.replica, fields.task, fields.device_index):
        if number is not None and number < 0:
            raise ValueError(f"{number} is no number of a replica, task or device")


def merge_specs(inner: Name, outer: Name) -> str:
    """The fields of `inner`, and those of `outer` where it says nothing, as a name."""
    return _merge(_fields_of(inner), _fields_of(outer))


def merge_device(spec: Name) -> Callable[[Any], str]:
    """A device function: merges `spec` around the `device` an op (or NodeDef) already asks for."""
    outer = _fields_of(spec)

    def merge(node_def: Any) -> str:
        return _merge(_fields_of(node_def.device), outer)

    return merge


def combine_specs(first: Name, second: Name, *, allow_soft_placement: bool = False) -> str:
    """The name of what satisfies both requests.

    With `allow_soft_placement`, a conflict of type or index drops type or index from the answer.
    Raises InvalidArgumentError when the two conflict.
    """
    a, b = _fields_of(first), _fields_of(second)
    both = a.over(b)
    for field, plural in _PLURALS.items():
        left, right = getattr(a, field), getattr(b, field)
        if left is None or right is None or left == right:
            continue
        if not (allow_soft_placement and field in ("device_type", "device_index")):
            message = f"Cannot merge devices with incompatible {plural}: '{a.text}' and '{b.text}'"
            raise invalid_argument(message)
        both = both._replace(device_index=None)
        if field == "device_type":
            both = both._replace(device_type=None)
    return both.text


def is_specification_of(spec: Name, name: Name) -> bool:
    """Whether `spec` asks for nothing that `name` does not say; both may be partial."""
    return _fields_of(spec).within(_fields_of(name))


def matches(spec: Name, full_name: Name) -> bool:
    """Whether the device called `full_name` is one that `spec` asks for.

    Raises ValueError when `full_name` leaves a field open.
    """
    narrow = _fields_of(full_name)
    if None in narrow:
        raise ValueError(f"Not a full device name: '{narrow.text}'")
    return _fields_of(spec).within(narrow)


def is_full_name(name: Name) -> bool:
    """Whether all five fields are given, so that the name means one device."""
    return None not in _fields_of(name)


def without_type_and_id(spec: Name) -> str:
    """What soft placement falls back to: the same task, any device there."""
    return _fields_of(spec)._replace(device_type=None, device_index=None).text


_PLURALS = {
    "job": "jobs",
    "replica": "replicas",
    "task": "tasks",
    "device_type": "types",
    "device_index": "ids",
}


def _fields_of(device: Name) -> _Fields:
    return device._fields if isinstance(device, DeviceSpecV2) else _parse(device or "")


@lru_cache(_CACHE_SIZE)
def _merge(inner: _Fields, outer: _Fields) -> str:
    return inner.over(outer).text


@lru_cache(_CACHE_SIZE)
def _parse(spec: str) -> _Fields:
    fields: dict[str, Any] = {}
    for part in spec.split("/"):
        match part.split(":"):
            case [""]:
                continue
            case ["job", job]:
                fields["job"] = None if job == "*" else job
            case ["replica" | "task" as key, number]:
                fields[key] = _number(number, spec)
            case ["device", kind, *index] if len(index) == 1:
                _set_device(fields, kind, index, spec)
            case [kind, *index] if kind.upper() in ("CPU", "GPU") and len(index) < 2:
                _set_device(fields, kind, index, spec)
            case [key, *_]:
                raise ValueError(f"Unknown attribute: '{key}' in '{spec}'")
    return _Fields(**fields)


def _set_device(fields: dict[str, Any], kind: str, index: list[str], spec: str) -> None:
    if "device_type" in fields:
        raise ValueError(f"Cannot specify multiple device types: {spec}")
    fields["device_type"] = None if kind == "*" else _type_or_none(kind)
    fields["device_index"] = _number(index[0], spec) if index else None


def _number(text: str, spec: str) -> int | None:
    if text == "*":
        return None
    try:
        return int(text)
    except ValueError:
        raise ValueError(
            f"invalid literal for int() with base 10: '{text}' in '{spec}', nor is it '*'"
        ) from None
