"""Device names: parsing, merging and matching.

A full name is `/job:worker/replica:0/task:1/device:GPU:2`. A missing field or `*` matches any
value. `/gpu:2` and `/cpu:0` are the old spelling of the last field. Other modules pass names as
strings. Programs may also use `DeviceSpec` (TensorFlow 1's, which is mutable) and `DeviceSpecV2`
(immutable). Inside this module, a name is a `_Fields` object, which is immutable. Each string is
parsed once and cached, because placement repeats the same few queries for every node.

There are two ways to combine requests. In `merge_specs`, the inner request overrides the outer
request field by field, as nested `tf.device` blocks do. `combine_specs` combines the requests of
nodes that must share a device, and rejects a conflict. The rules are the same as in TensorFlow's
python/framework/device_spec.py and core/util/device_name_utils.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gpugraph.base.errors import invalid_argument

_CACHE_SIZE = 4096


class _Fields(NamedTuple):
    """The five fields of a device name. A field that is None matches any value."""

    job: str | None = None
    replica: int | None = None
    task: int | None = None
    device_type: str | None = None
    device_index: int | None = None

    def over(self, outer: _Fields) -> _Fields:
        """Return these fields. Fields that are None in this object are taken from `outer`."""
        fields = {key: value for key, value in self._asdict().items() if value is not None}
        return outer._replace(**fields)

    def within(self, narrow: _Fields) -> bool:
        """Return whether every device that matches `narrow` also matches these fields."""
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
        raise ValueError(f"{value} is not the index of a device: {error}") from None


def _type_or_none(value: object) -> str | None:
    """Return the device type, or None. `cpu` and `gpu` are converted to upper case."""
    text = _text_or_none(value)
    return text.upper() if text is not None and text.lower() in ("cpu", "gpu") else text


def _field(name: str, doc: str) -> Any:
    """Return a read-only property of `DeviceSpecV2` for the field `name`."""
    return property(lambda spec: getattr(spec._fields, name), doc=doc)


def _settable(name: str, convert: Callable[[Any], Any]) -> Any:
    """Return a property of `DeviceSpec` for the field `name`. `convert` converts assigned
    values.
    """

    def assign(spec: DeviceSpec, value: Any) -> None:
        spec._fields = spec._fields._replace(**{name: convert(value)})

    inherited: property = getattr(DeviceSpecV2, name)
    return inherited.setter(assign)


_Spec = TypeVar("_Spec", bound="DeviceSpecV2")


class DeviceSpecV2:
    """An immutable, possibly partial specification of a device: `tf.compat.v2.DeviceSpec`.

    Fields that are None request nothing. Parsing raises ValueError for an unknown field, a
    malformed number or two device types. Assignment to a field raises AttributeError.
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
        """Return the spec of a name such as `"/job:ps/task:1/gpu:0"`. For None and `""`, return an
        empty spec.
        """
        return cls(*_parse(spec or ""))

    job = _field("job", "The job's name, or None.")
    replica = _field("replica", "The replica's number, or None.")
    task = _field("task", "The task's number, or None.")
    device_type = _field("device_type", 'The type, such as `"GPU"`, or None.')
    device_index = _field("device_index", "The number among its type, or None.")

    def parse_from_string(self: _Spec, spec: str | None) -> _Spec:
        """Return a new spec with the fields of the name `spec`, as `from_string` does."""
        return type(self).from_string(spec)

    def to_string(self) -> str:
        """Return the name, such as `"/job:ps/task:1/device:GPU:0"`. An index without a device type
        is omitted.
        """
        return self._fields.text

    def make_merged_spec(self: _Spec, dev: DeviceSpecV2) -> _Spec:
        """Return a new spec with the fields of `dev`. Fields that are None in `dev` are taken from
        this spec.
        """
        return type(self)(*dev._fields.over(self._fields))

    def replace(self: _Spec, **kwargs: Any) -> _Spec:
        """Return a new spec with some fields changed. Raises TypeError for an unknown field."""
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
    """A possibly partial specification of a device: job, replica, task, device type and device
    index.

    Fields that are None request nothing. Parsing raises ValueError for an unknown field, a
    malformed number or two device types.
    """

    __slots__ = ()

    job = _settable("job", _text_or_none)
    replica = _settable("replica", _int_or_none)
    task = _settable("task", _int_or_none)
    device_type = _settable("device_type", _type_or_none)
    device_index = _settable("device_index", _int_or_none)

    def parse_from_string(self, spec: str | None) -> DeviceSpec:
        """Set all fields from a name, as `from_string` does, and return this spec."""
        self._fields = _parse(spec or "")
        return self

    def merge_from(self, dev: DeviceSpecV2) -> None:
        """Copy the fields of `dev` that are not None to this spec."""
        self._fields = dev._fields.over(self._fields)


Name: TypeAlias = str | DeviceSpecV2 | None


def canonical_name(device: Name) -> str:
    """Return the canonical spelling: `"/gpu:1"` becomes `"/device:GPU:1"`, None becomes `""`.

    Raises ValueError for an invalid device name, as every function of this module does.
    """
    return _fields_of(device).text


def check_valid(spec: str) -> None:
    """Raise ValueError if `spec` is not a device name."""
    _parse(spec)


def check_placeable(spec: str) -> None:
    """Raise ValueError if `spec` is not a device name, or has a negative number.

    As in TensorFlow, `tf.device` accepts a negative number, but no session can place the ops.
    """
    fields = _parse(spec)
    for number in (fields.replica, fields.task, fields.device_index):
        if number is not None and number < 0:
            raise ValueError(f"{number} is not the number of a replica, task or device")


def merge_specs(inner: Name, outer: Name) -> str:
    """Return the name with the fields of `inner`. Fields that `inner` does not set are taken from
    `outer`.
    """
    return _merge(_fields_of(inner), _fields_of(outer))


def merge_device(spec: Name) -> Callable[[Any], str]:
    """Return a device function for `tf.device`, in which an op's own request overrides `spec`."""
    outer = _fields_of(spec)

    def merge(node_def: Any) -> str:
        return _merge(_fields_of(node_def.device), outer)

    return merge


def combine_specs(first: Name, second: Name, *, allow_soft_placement: bool = False) -> str:
    """Return the most general device name that satisfies both requests.

    Raises InvalidArgumentError if a field has different values in the two requests. If
    `allow_soft_placement` is true, different device types or indices are not an error. The result
    then has no index and, if the types differ, no type.
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
    """Return whether every field that is set in `spec` has the same value in `name`.

    `spec` and `name` may be partial names.
    """
    return _fields_of(spec).within(_fields_of(name))


def matches(spec: Name, full_name: Name) -> bool:
    """Return whether the device `full_name` satisfies the request `spec`.

    Raises ValueError if `full_name` lacks a field.
    """
    narrow = _fields_of(full_name)
    if None in narrow:
        raise ValueError(f"Not a full device name: '{narrow.text}'")
    return _fields_of(spec).within(narrow)


def is_full_name(name: Name) -> bool:
    """Return whether all five fields are set, so that the name identifies one device."""
    return None not in _fields_of(name)


def without_type_and_id(spec: Name) -> str:
    """Return `spec` without device type and index, so that it matches any device of the task."""
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
