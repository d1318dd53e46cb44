"""Flags and their values, which are read from a command line."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Parser = Callable[[str], Any]
Check = Callable[[Any], Any]


class Error(Exception):
    """The base class of the errors that concern flags."""


class DuplicateFlagError(Error):
    """A flag is defined twice."""


class IllegalFlagValueError(Error):
    """A flag has a value that is not allowed."""


class UnparsedFlagAccessError(Error):
    """A flag is accessed before the command line was parsed."""


class UnrecognizedFlagError(Error):
    """The command line has a flag that is not defined."""


class ValidationError(Error):
    """A flag's validator refuses its value."""


class Flag:
    """One flag.

    The attributes are `name`, `default`, `help`, `value` and `boolean`. `present` is the number of
    times that the flag occurs in the command line. `multiple` states whether the flag may be
    repeated. If so, its value is a list.
    """

    def __init__(
        self,
        name: str,
        default: Any,
        help: str,
        parse: Parser,
        boolean: bool = False,
        multiple: bool = False,
    ) -> None:
        self.name = name
        self.help = help
        self.boolean = boolean
        self.multiple = multiple
        self.present = 0
        self._parse = parse
        self.default = self.value = self._read_default(default)

    def _read_default(self, default: Any) -> Any:
        if default is None:
            return None
        if self.multiple:
            values = default if isinstance(default, (list, tuple)) else [default]
            return [self._read(value) for value in values]
        return self._read(default)

    def _read(self, value: Any) -> Any:
        """Convert a value from the program or the command line.

        Raises IllegalFlagValueError on failure.
        """
        try:
            return self._parse(value)
        except (TypeError, ValueError) as error:
            raise IllegalFlagValueError(f"flag --{self.name}={value}: {error}") from error

    def parse(self, text: str) -> None:
        """Set the value from a text in the command line.

        If the flag may be repeated, append the new value to the list.
        """
        value = self._read(text)
        if self.multiple:
            value = [*self.value, value] if self.present else [value]
        self.value = value
        self.present += 1

    def unparse(self) -> None:
        """Reset the value to the default."""
        self.value, self.present = self.default, 0


class FlagValues:
    """All flags. `FLAGS.name` is a flag's value, `FLAGS["name"]` is a `Flag`, and `FLAGS(argv)`
    parses `argv`.
    """

    def __init__(self) -> None:
        self.__dict__.update(_flags={}, _parsed=False, _checks=[])

    # -- parsing

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        """Parse the flags in a command line. Return the remaining arguments, with argv[0] first.

        Raises UnrecognizedFlagError if a flag is not defined. If `known_only` is true, undefined
        flags are returned with the arguments instead. Raises IllegalFlagValueError if a flag does
        not allow its value or a validator rejects it.
        """
        if not argv:
            raise ValueError("argv cannot be an empty list: its first element names the program")
        for flag in self._flags.values():
            flag.present = 0
        rest = [argv[0]]
        arguments = iter(argv[1:])
        for argument in arguments:
            if argument == "--":
                rest += arguments
            elif not argument.startswith("-") or argument == "-":
                rest.append(argument)
            elif not self._take(argument, arguments):
                if not known_only:
                    name = argument.lstrip("-").partition("=")[0]
                    raise UnrecognizedFlagError(f"Unknown command line flag '{name}'")
                rest.append(argument)
        self.__dict__["_parsed"] = True
        self.validate_all_flags()
        return rest

    def _take(self, argument: str, rest: Iterator[str]) -> bool:
        """Parse an argument if it is a defined flag. Otherwise return False.

        Args:
          rest: the following arguments. The first is removed if it is the flag's value.
        """
        name, has_value, value = argument.lstrip("-").partition("=")
        flag = self._flags.get(name)
        if flag is None:
            negated = self._flags.get(name.removeprefix("no"))
            if negated is None or not negated.boolean or not name.startswith("no") or has_value:
                return False
            negated.parse("false")
            return True
        if not has_value:
            following = "true" if flag.boolean else next(rest, None)
            if following is None:
                raise Error(f"Missing value for flag --{name}")
            value = following
        flag.parse(value)
        return True

    def is_parsed(self) -> bool:
        """Return whether the command line was parsed."""
        return self._parsed

    def mark_as_parsed(self) -> None:
        """Allow reads of flags although no command line was parsed.

        The flags have their defaults, or the values that the program has set.
        """
        self.__dict__["_parsed"] = True

    def unparse_flags(self) -> None:
        """Reset all flags to their defaults, as before the command line was parsed."""
        for flag in self._flags.values():
            flag.unparse()
        self.__dict__["_parsed"] = False

    # -- values

    def __getattr__(self, name: str) -> Any:
        flags = self.__dict__["_flags"]
        if name == "__flags":  # older programs read the dict of all flags by this name
            return flags
        if name not in flags:
            raise AttributeError(f"no flag is named {name!r}; there are {sorted(flags)}")
        if not self.__dict__["_parsed"]:
            if self is not FLAGS:
                raise UnparsedFlagAccessError(
                    f"Trying to access flag --{name} before flags were parsed."
                )
            self(sys.argv, known_only=True)
        return flags[name].value

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._flags:
            raise AttributeError(f"no flag is named {name!r}; there are {sorted(self._flags)}")
        self._flags[name].value = value
        self._check(name)

    def __delattr__(self, name: str) -> None:
        if name not in self._flags:
            raise AttributeError(f"no flag is named {name!r}; there are {sorted(self._flags)}")
        del self._flags[name]

    def __getitem__(self, name: str) -> Flag:
        return self._flags[name]

    def __setitem__(self, name: str, flag: Flag) -> None:
        if name in self._flags:
            raise DuplicateFlagError(
                f"The flag '{name}' is defined twice: first as '{self._flags[name].help}', then "
                f"as '{flag.help}'"
            )
        self._flags[name] = flag

    def __contains__(self, name: object) -> bool:
        return name in self._flags

    def __iter__(self) -> Iterator[str]:
        return iter(self._flags)

    def __len__(self) -> int:
        return len(self._flags)

    def __dir__(self) -> list[str]:
        return sorted([*self._flags, *object.__dir__(self)])

    def flag_values_dict(self) -> dict[str, Any]:
        """Return a dict from the names of all flags to their values."""
        return {name: flag.value for name, flag in self._flags.items()}

    def set_default(self, name: str, value: Any) -> None:
        """Change the default of a flag. If the flag's value does not come from the command line,
        also change the value.
        """
        flag = self[name]
        flag.default = flag._read_default(value)
        if not flag.present:
            flag.value = flag.default

    # -- validators

    def add_check(self, name: str, check: Check, message: str) -> None:
        """Require that `check(value)` is true whenever the flag's value is parsed or set."""
        if name not in self._flags:
            raise AttributeError(f"no flag is named {name!r}; there are {sorted(self._flags)}")
        self._checks.append((name, check, message))

    def validate_all_flags(self) -> None:
        """Raise IllegalFlagValueError if a validator rejects the value of any flag."""
        for name in self._flags:
            self._check(name)

    def _check(self, name: str) -> None:
        value = self._flags[name].value
        for of, check, message in self._checks:
            if of != name:
                continue
            try:
                holds = check(value)
            except ValidationError as error:
                holds, message = False, str(error)
            if not holds:
                raise IllegalFlagValueError(f"flag --{name}={value}: {message}")

    # -- help

    def get_help(self) -> str:
        """Return a text that lists all flags with their help and defaults."""
        lines = []
        for name in sorted(self._flags):
            flag = self._flags[name]
            lines.append(f"  --{'[no]' if flag.boolean else ''}{name}: {flag.help}")
            if flag.default is not None:
                lines.append(textwrap.indent(f"(default: {flag.default!r})", "    "))
        return "\n".join(lines)

    def main_module_help(self) -> str:
        """Return the text that `--help` prints."""
        return f"\n{os.path.basename(sys.argv[0])}:\n{self.get_help()}"


FLAGS = FlagValues()
"""The flags that `tf.flags.DEFINE_...` defines."""
