"""Functions of `distutils` and `pkg_resources` that programs call at run time."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sysconfig
from functools import total_ordering
from importlib import metadata
from typing import Any

from gpugraph.tensorflow_import.modules_by_name import module_named

_PART = re.compile(r"(\d+|[a-z]+|\.)")


@total_ordering
class LooseVersion:
    """A version that is compared by the sequence of its numbers and words."""

    def __init__(self, vstring: str = "") -> None:
        self.parse(vstring)

    def parse(self, vstring: str) -> None:
        """Set the version from a string."""
        self.vstring = str(vstring)
        parts = (part for part in _PART.split(self.vstring) if part and part != ".")
        self.version: list[Any] = [int(part) if part.isdigit() else part for part in parts]

    def _key(self) -> list[tuple[bool, Any]]:
        return [(isinstance(part, int), part) for part in self.version]

    def __eq__(self, other: object) -> bool:
        return self._key() == _version(other)._key()

    def __lt__(self, other: object) -> bool:
        return self._key() < _version(other)._key()

    def __hash__(self) -> int:
        return hash(tuple(self._key()))

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"


class StrictVersion(LooseVersion):
    """A version of two or three numbers, such as 1.2 or 1.2.3a1."""

    def parse(self, vstring: str) -> None:
        """Set the version from a string. Raises ValueError if the string is not such a version."""
        if not re.fullmatch(r"\d+\.\d+(\.\d+)?([ab]\d+)?", str(vstring)):
            raise ValueError(f"invalid version number '{vstring}'")
        super().parse(vstring)


def _version(value: Any) -> LooseVersion:
    return value if isinstance(value, LooseVersion) else LooseVersion(str(value))


def strtobool(val: str) -> int:
    """Return 1 if the text is y, yes, t, true, on or 1, and 0 if it is n, no, f, false, off or 0.
    Raises ValueError if it is any other text.
    """
    text = val.lower()
    if text in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if text in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {text!r}")


def spawn(cmd: Any, *arguments: Any, **options: Any) -> None:
    """Run a command. Raises CalledProcessError if it fails."""
    subprocess.run(cmd, check=True)


def mkpath(name: str, *arguments: Any, **options: Any) -> list[str]:
    """Create a folder and its parents."""
    os.makedirs(name, exist_ok=True)
    return [name]


def copy_tree(src: str, dst: str, *arguments: Any, **options: Any) -> list[str]:
    """Copy the contents of a folder into another folder."""
    shutil.copytree(src, dst, dirs_exist_ok=True)
    return [os.path.join(dst, name) for name in os.listdir(src)]


def copy_file(src: str, dst: str, *arguments: Any, **options: Any) -> tuple[str, int]:
    """Copy a file to a path or into a folder. Return its path and 1."""
    return str(shutil.copy2(src, dst)), 1


def get_python_lib(*arguments: Any, **options: Any) -> str:
    """Return the folder of installed packages."""
    return sysconfig.get_path("purelib")


def get_python_inc(*arguments: Any, **options: Any) -> str:
    """Return the folder of Python's headers."""
    return sysconfig.get_path("include")


# -- pkg_resources


class _Distribution:
    """The name and the version of an installed package."""

    def __init__(self, name: str) -> None:
        self.project_name = self.key = name
        self.version = metadata.version(name)
        self.parsed_version = LooseVersion(self.version)


def get_distribution(dist: str) -> _Distribution:
    """Return an installed package. Raises PackageNotFoundError if it is missing."""
    return _Distribution(re.split(r"[<>=!~\[ ]", str(dist))[0])


def require(*requirements: str) -> list[_Distribution]:
    """Return the installed packages that the requirements name. Their versions are not checked."""
    return [get_distribution(requirement) for requirement in requirements]


def resource_filename(package: Any, resource_name: str) -> str:
    """Return the path of a file in the folder of a module."""
    file = getattr(module_named(str(package)), "__file__", None) or ""
    return os.path.join(os.path.dirname(os.path.abspath(file)), resource_name)


def resource_string(package: Any, resource_name: str) -> bytes:
    """Return the content of a file in the folder of a module."""
    with open(resource_filename(package, resource_name), "rb") as file:
        return file.read()


def resource_stream(package: Any, resource_name: str) -> io.BytesIO:
    """Return an open file with the content of a file in the folder of a module."""
    return io.BytesIO(resource_string(package, resource_name))


def resource_exists(package: Any, resource_name: str) -> bool:
    """Return whether the folder of a module contains a file."""
    return os.path.exists(resource_filename(package, resource_name))


def resource_listdir(package: Any, resource_name: str) -> list[str]:
    """Return the names in a subfolder of a module's folder."""
    return os.listdir(resource_filename(package, resource_name))


def iter_entry_points(group: str, name: str | None = None) -> list[Any]:
    """Return the entry points of a group."""
    points = metadata.entry_points(group=group)
    return [point for point in points if name is None or point.name == name]


class _WorkingSet:
    """The set of installed packages."""

    @property
    def by_key(self) -> dict[str, Any]:
        """A dict from names in lower case to packages."""
        names = [d.metadata["Name"] for d in metadata.distributions() if d.metadata["Name"]]
        return {name.lower(): _Distribution(name) for name in names}

    def __iter__(self) -> Any:
        return iter(self.by_key.values())


WORKING_SET = _WorkingSet()
