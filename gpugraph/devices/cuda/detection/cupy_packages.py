"""The installed CuPy package, found without importing it."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from typing import NamedTuple

_WHEELS = {"cupy-cuda13x": 13, "cupy-cuda12x": 12, "cupy-cuda11x": 11, "cupy": 0}
"""CuPy's packages, with the major CUDA version for which each is built; 0 if that is unknown,
because the package is built from source.
"""
_OTHERS = ("cupy-rocm-7-0", "cupy-rocm-5-0", "cupy-rocm-4-3")
_EXTRAS = {12: "cuda12", 13: "cuda13"}
_OLDEST, _NEWEST = min(_EXTRAS), max(_EXTRAS)


class CuPy(NamedTuple):
    """An installed CuPy package.

    Args:
      cuda: the major CUDA version for which CuPy is built, or 0 if this version is unknown.
      reason: the reason why CuPy can't be used, or "" if CuPy can be used.
    """

    name: str
    version: str
    cuda: int
    reason: str = ""


def installed_version(name: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def extra_for(driver_version: int | None) -> str:
    """Return the pip command that installs CuPy for a driver that supports the CUDA version
    `driver_version`. If `driver_version` is None, because no driver is installed yet, the text
    contains the commands for both major CUDA versions.
    """
    if driver_version is None:
        return f"pip install 'gpugraph[{_EXTRAS[_OLDEST]}]' or 'gpugraph[{_EXTRAS[_NEWEST]}]'"
    fitting = min(max(driver_version // 1000, _OLDEST), _NEWEST)
    return f"pip install 'gpugraph[{_EXTRAS[fitting]}]'"


def find_cupy(driver_version: int | None) -> CuPy:
    """Return the CuPy package that an import would use. If this package can't be used, its `reason`
    contains advice for a driver of this version.
    """
    versions = {name: version for name in _WHEELS if (version := installed_version(name))}
    foreign = [name for name in _OTHERS if installed_version(name)]
    if len(versions) + len(foreign) > 1:
        return _several([*versions, *foreign], driver_version)
    if foreign:
        reason = f"{foreign[0]} is for GPUs of AMD, gpugraph is for those of NVIDIA"
        return CuPy(foreign[0], "", 0, reason)
    reason = _unimportable(driver_version)
    for name, version in versions.items():
        cuda = _WHEELS[name]
        if not reason and cuda and cuda < _OLDEST:
            reason = (
                f"{name} is for CUDA {cuda}, gpugraph needs CUDA {_OLDEST} or {_NEWEST}: "
                f"pip uninstall {name}, then {extra_for(driver_version)}"
            )
        return CuPy(name, version, cuda, reason)
    return CuPy("cupy", "unknown", 0, reason)


def _several(names: list[str], driver_version: int | None) -> CuPy:
    """Return the result if several CuPy packages are installed. They can't be used together,
    because they overwrite each other's files in the same folder.
    """
    reason = (
        f"{len(names)} packages of CuPy are installed over each other ({', '.join(names)}): "
        f"pip uninstall {' '.join(names)}, then {extra_for(driver_version)}"
    )
    return CuPy(names[0], "", 0, reason)


def _unimportable(driver_version: int | None) -> str:
    """Return the reason why CuPy can't be imported, or "" if no installed file is missing. Only the
    package `cupy_backends` of CuPy is needed.
    """
    try:
        spec = find_spec("cupy_backends")
        whole = find_spec("cupy")
    except (ImportError, ValueError) as error:
        return f"the installation of CuPy is broken ({error})"
    if spec is None and whole is None:
        return f"CuPy is not installed: {extra_for(driver_version)}"
    if spec is None or spec.origin is None or whole is None or whole.origin is None:
        left = next(iter((spec or whole).submodule_search_locations or ["?"]), "?")  # type: ignore[union-attr]
        return f"the installation of CuPy is not whole: look at {left}, and install it again"
    return ""
