"""Modules that are imported on the first access to one of their attributes."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gpugraph.tensorflow_import.modules_by_name import module_named

_PER_MODULE_WARNING_LIMIT = 1
"""The number of warnings for each module in TensorFlow; here there are none."""


class LazyLoader(ModuleType):
    """A proxy of the module `name`, which is imported when one of its attributes is first read."""

    def __init__(self, local_name: str, parent_module_globals: dict[str, Any], name: str) -> None:
        super().__init__(name)
        self._local_name, self._globals = local_name, parent_module_globals

    def _load(self) -> ModuleType:
        module = module_named(self.__name__)
        self._globals[self._local_name] = module
        vars(self).update(vars(module))
        return module

    def __getattr__(self, item: str) -> Any:
        return getattr(self._load(), item)

    def __dir__(self) -> list[str]:
        return dir(self._load())


class TFModuleWrapper(ModuleType):
    """A proxy of a module, which has the same attributes."""

    def __init__(
        self,
        wrapped: ModuleType,
        module_name: str,
        public_apis: Any = None,
        deprecation: bool = True,
        has_lite: bool = False,
    ) -> None:
        super().__init__(wrapped.__name__)
        vars(self).update(vars(wrapped))
        vars(self)["_tfmw_wrapped_module"] = wrapped

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["_tfmw_wrapped_module"], name)

    def __dir__(self) -> list[str]:
        return dir(vars(self)["_tfmw_wrapped_module"])
