"""Optional packages. Extras of gpugraph install them, and they are imported when they are first
needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def package_of_extra(extra: str, package: str, users: str) -> Iterator[None]:
    """Report an ImportError raised in the block as a missing optional package.

    Args:
      extra: the extra of gpugraph that includes the package.
      package: the name under which pip installs the package.
      users: a plural noun for the features that need the package, such as `HDF5 files`, for the
        error message.

    Raises:
      ModuleNotFoundError: the package can't be imported. The error names the extra.
    """
    try:
        yield
    except ImportError as error:
        raise not_installed(extra, package, users, error.name, f" ({error})") from error


def not_installed(
    extra: str, package: str, users: str, module: str | None, detail: str = ""
) -> ModuleNotFoundError:
    """Return the error for a package that is needed but not installed.

    Args:
      extra, package, users: as in `package_of_extra`.
      module: the name of the missing module.
      detail: text that is appended to the message.
    """
    return ModuleNotFoundError(
        f"{users} need the package {package}, which is not installed: "
        f"pip install 'gpugraph[{extra}]'{detail}",
        name=module,
    )
