"""Optional packages, which pip extras of gpugraph install, and which are imported on first use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def package_of_extra(extra: str, package: str, users: str) -> Iterator[None]:
    """Import modules of an optional package in the block.

    Args:
      extra: the extra of gpugraph that includes the package.
      package: the name to install the package by.
      users: a plural noun for the features that need the package, for the error: `HDF5 files`.

    Raises:
      ModuleNotFoundError: the package can't be imported; the error names the extra.
    """
    try:
        yield
    except ImportError as error:
        raise not_installed(extra, package, users, error.name, f" ({error})") from error


def not_installed(
    extra: str, package: str, users: str, module: str | None, detail: str = ""
) -> ModuleNotFoundError:
    """Return the error to raise if `users` need a package that is not installed.

    Parameters as in `package_of_extra`;

    Args:
      module: the name of the missing module.
    """
    return ModuleNotFoundError(
        f"{users} need the package {package}, which is not installed: "
        f"pip install 'gpugraph[{extra}]'{detail}",
        name=module,
    )
