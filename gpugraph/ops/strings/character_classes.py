"""Named sets of characters (code points) from ASCII, Perl and Unicode, and the upper and lower
cases of letters.

Unicode's categories come from Python's `unicodedata`, so the Unicode version is Python's.
`unicodedata` has no scripts, such as Greek. They are in the module `unicode_scripts`.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from functools import cache
from itertools import groupby

from gpugraph.ops.strings.regex_fragments import LAST, Ranges, merged
from gpugraph.ops.strings.unicode_scripts import scripts


def _ranges(text: str) -> Ranges:
    """Return the ranges of code points that `text` describes. `text` has the first and the last
    character of each range.
    """
    return merged([(ord(first), ord(last)) for first, last in zip(text[::2], text[1::2])])


ASCII_CLASSES = {
    "alnum": _ranges("09AZaz"),
    "alpha": _ranges("AZaz"),
    "ascii": _ranges("\x00\x7f"),
    "blank": _ranges("\t\t  "),
    "cntrl": _ranges("\x00\x1f\x7f\x7f"),
    "digit": _ranges("09"),
    "graph": _ranges("!~"),
    "lower": _ranges("az"),
    "print": _ranges(" ~"),
    "punct": _ranges("!/:@[`{~"),
    "space": _ranges("\t\r  "),
    "upper": _ranges("AZ"),
    "word": _ranges("09AZaz__"),
    "xdigit": _ranges("09AFaf"),
}
PERL_CLASSES = {"d": _ranges("09"), "s": _ranges("\t\n\f\r  "), "w": _ranges("09AZaz__")}


_DOTLESS_I = 0x131  # its upper case is I, but Unicode's case folding leaves it unchanged


@cache
def _categories() -> dict[str, Ranges]:
    """Return a dict from each general category, such as "Lu", and each group of categories, such as
    "L", to its code points.
    """
    categories: dict[str, list[tuple[int, int]]] = defaultdict(list)
    points = range(LAST + 1)
    for name, run in groupby(points, lambda point: unicodedata.category(chr(point))):
        first, *rest = run
        if name != "Cn":  # RE2 has no class Cn
            pair = (first, rest[-1] if rest else first)
            categories[name].append(pair)
            categories[name[0]].append(pair)
    return {name: merged(pairs) for name, pairs in categories.items()}


def unicode_class(name: str) -> Ranges | None:
    """Return the code points of a category ("L", "Lu"), a script ("Greek") or "Any". If the name is
    unknown, return None.
    """
    return ((0, LAST),) if name == "Any" else _categories().get(name) or scripts().get(name)


@cache
def _cases() -> dict[int, frozenset[int]]:
    """Return a dict from each letter that has several cases to the set of these cases. For example,
    the kelvin sign is a case of k.
    """
    letters: dict[str, set[int]] = defaultdict(set)
    for point in range(LAST + 1):
        letter = chr(point)
        if point != _DOTLESS_I and (letter.lower() != letter or letter.upper() != letter):
            for form in (letter.lower(), letter.upper(), letter.casefold()):
                if len(form) == 1:
                    letters[form].add(point)
            letters[letter].add(point)
    groups: dict[int, set[int]] = {}
    for form, points in letters.items():
        joined = {ord(form), *points}
        for point in list(joined):
            joined |= groups.get(point, set())
        for point in joined:
            groups[point] = joined
    return {point: frozenset(joined) for point, joined in groups.items() if len(joined) > 1}


def folded(ranges: Ranges) -> Ranges:
    """Return the ranges extended by all cases of each letter."""
    cases = [
        point
        for letter, points in _cases().items()
        if any(first <= letter <= last for first, last in ranges)
        for point in points
    ]
    return merged([*ranges, *((point, point) for point in cases)])
