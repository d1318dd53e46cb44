"""StubOutForTesting: temporary replacement of attributes during a test."""

from __future__ import annotations

import inspect
from typing import Any


class StubOutForTesting:
    """Replaces attributes of modules, classes and objects, and restores the original attributes.

    `CleanUp` restores all original attributes. It is also called at the end of a `with` block, and
    when this object is deleted.
    """

    def __init__(self) -> None:
        self._set: list[tuple[Any, str, Any]] = []
        self._smart: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> StubOutForTesting:
        return self

    def __exit__(self, *_: object) -> None:
        self.CleanUp()

    def __del__(self) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Restore all attributes that `Set` and `SmartSet` replaced."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replace `parent.child_name` by `new_child`. Raises AttributeError if the attribute does
        not exist.
        """
        old = getattr(parent, child_name)
        if isinstance(vars(parent).get(child_name), staticmethod):
            old, new_child = staticmethod(old), staticmethod(new_child)
        self._set.append((parent, child_name, old))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:
        """Restore the attributes that `Set` replaced, in reverse order."""
        _put_back(self._set)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replace `obj.attr_name` where it is defined. This may be the object, its class, or a base
        class.

        Raises AttributeError if the attribute is not defined.
        """
        if inspect.ismodule(obj) or (not inspect.isclass(obj) and attr_name in vars(obj)):
            owners = [obj]
        else:
            owners = list(inspect.getmro(obj if inspect.isclass(obj) else type(obj)))
        for owner in owners:
            if attr_name in vars(owner):
                self._smart.append((owner, attr_name, vars(owner)[attr_name]))
                setattr(owner, attr_name, new_attr)
                return
        raise AttributeError(f"Attribute not found: {obj!r} has no {attr_name!r}")

    def SmartUnsetAll(self) -> None:
        """Restore the attributes that `SmartSet` replaced, in reverse order."""
        _put_back(self._smart)


def _put_back(replaced: list[tuple[Any, str, Any]]) -> None:
    while replaced:
        parent, name, old = replaced.pop()
        setattr(parent, name, old)
