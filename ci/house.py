"""Counts what makes the package easy or hard to read, and holds each count to its bound.

    python ci/house.py [FOLDER] [--list COUNT]

Counted are, in the Python files below FOLDER (gpugraph):

    folders     folders with more than 25 files
    names       base names that stand in two or more folders
    vague       variables and attributes whose name says only that a value exists, per 1,000 lines
    documented  public functions, classes, methods and properties with a docstring, in percent
    repeated    pairs of places with six lines in a row that are alike but for names, strings and
                numbers; imports, signatures, comments and blank lines do not count, nor do lines
                that stand in more than eight places; per 1,000 lines
    clauses     clauses that begin with "what" where a noun could stand, in docstrings and comments,
                per 1,000 words (docs/style.md)
    fragments   docstrings of functions and methods that do not begin with an imperative, in percent
    dialect     words of the table in docs/style.md, in docstrings and comments, per 1,000 words
    verbless    sentences that begin with the class of an error and have no verb
    relatives   relative clauses with a preposition ("in which", "whose"), per 1,000 words
    pronouns    "those of", "that of" and "others" in place of a noun, per 1,000 words
    residue     remains of an editor's marks, such as "~123" before a line
    lines       lines, in all and by folder

`--list` prints what a count is made of. The exit status is 1 if a count is beyond its bound.
"""

from __future__ import annotations

import argparse
import ast
import keyword
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
MOST_FILES = 25
SHARED_NAMES = {"__init__.py", "dtypes.py"}  # api/dtypes.py is the public face of base/dtypes.py
VAGUE = frozenset(["made", "each", "found", "told", "said", "given", "taken", "at", "own", "more"])
RUN = 6
COMMON = 8
BOUNDS = {
    **{"folders": 0, "names": 0, "vague": 0.2, "documented": 100.0, "repeated": 2.4},
    **{"clauses": 0.1, "fragments": 0.5, "dialect": 0.6},
    **{"verbless": 15, "relatives": 4.3, "pronouns": 1.0, "residue": 0},
}
"""The maximum of each count, except for `documented`: the minimum."""

_TOKEN = re.compile(
    r"[rbfu]*(\"\"\".*?\"\"\"|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|\d[\w.]*|[A-Za-z_]\w*|\S"
)

_NO_IMPERATIVE = re.compile(
    r"(an?|all|as|both|by|each|every|for|from|how|if|in|its?|no|of|on|one|that|their|the|these|this"
    r"|those|to|under|what|when|where|whether|which|who|whose|why|with)",
    re.IGNORECASE,
)
"""Words with which no sentence in the imperative begins."""

_DIALECT = re.compile(
    r"(?<!\bat )\b(least|most(?! of| common| recent| likely| significant))\b(?! once)"
    r"|\b(ending|busily|of its own|but for|in turns|aside|spares?|stretch(es)?|settled|lets?"
    r"|(is|are|be|was|were) (told|given|asked|said|meant)|wants?|knows?|says?|who|whom"
    r"|those (that|which)|that which|so many|so much|by that|it is that"
    r"|anew|once more|by turns|stands? for|besides)\b",
    re.IGNORECASE,
)
_VERBLESS = re.compile(
    r"(?:\A|\n\s*\n\s*|[.!?]\s+)[A-Z]\w*Error\b(?:,? or [A-Z]\w*Error)?,?\s"
    r"(?:if|for|unless|when|with|without|on|after|in|outside)\b"
)
_RELATIVE = re.compile(
    r"\b(?:(?:after|at|before|by|for|from|in|of|on|over|through|to|under|with)\s(?:which|whom)|whose)\b"
)
_PRONOUN = re.compile(r"\b(?:(?:those|that)\s(?:of|in|from|for|with)|others)\b")
_RESIDUE = re.compile(r"^\s*~\d{2,}\b|\s=>\s*$", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]\w*")
_CODE = re.compile(r"`[^`]*`|^ *(>>>|\.\.\.).*$", re.MULTILINE)


class File(NamedTuple):
    """A parsed module: its path below the folder, its lines and its tree."""

    path: str
    lines: list[str]
    tree: ast.Module


def read_files(folder: Path) -> list[File]:
    """Return all modules below a folder."""
    files = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text("utf-8")
        files.append(File(str(path.relative_to(folder)), source.splitlines(), ast.parse(source)))
    return files


def crowded_folders(files: list[File]) -> list[str]:
    """Folders with too many files."""
    counts = Counter(str(Path(file.path).parent) for file in files)
    return [f"{name}: {count} files" for name, count in counts.items() if count > MOST_FILES]


def repeated_names(files: list[File]) -> list[str]:
    """Base names with the paths that bear them."""
    paths = defaultdict(list)
    for file in files:
        paths[Path(file.path).name].append(file.path)
    return [
        f"{name}: {', '.join(places)}"
        for name, places in paths.items()
        if len(places) > 1 and name not in SHARED_NAMES
    ]


def vague_names(files: list[File]) -> list[str]:
    """Variables, parameters and attributes that are bound under a vague name."""
    return [
        f"{file.path}:{line}: {name}"
        for file in files
        for line, name in _bound_names(file.tree)
        if name.strip("_") in VAGUE
    ]


def _bound_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name


def undocumented(files: list[File]) -> tuple[int, list[str]]:
    """Return how many public definitions there are, and those without a docstring."""
    definitions = [(file, *item) for file in files for item in _definitions(file.tree.body, "")]
    missing = [
        f"{file.path}:{node.lineno}: {name}"
        for file, node, name in definitions
        if not (ast.get_docstring(node) or _assigns_docstring(node) or _is_overload(node))
    ]
    return len(definitions), missing


def _is_overload(node: ast.FunctionDef | ast.ClassDef) -> bool:
    return any(isinstance(item, ast.Name) and item.id == "overload" for item in node.decorator_list)


def _assigns_docstring(node: ast.FunctionDef | ast.ClassDef) -> bool:
    """Return whether a class takes over a docstring: `__doc__ = Base.__doc__`."""
    return any(
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id == "__doc__"
        for statement in node.body
    )


def _definitions(
    body: list[ast.stmt], prefix: str
) -> Iterator[tuple[ast.FunctionDef | ast.ClassDef, str]]:
    for node in body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
            continue
        decorators = [d.attr for d in node.decorator_list if isinstance(d, ast.Attribute)]
        if "setter" in decorators or "deleter" in decorators:
            continue
        yield node, prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{prefix}{node.name}.")


def repetitions(files: list[File]) -> list[str]:
    """Pairs of files, or parts of one file, that share a run of lines alike; a run of each."""
    places: dict[tuple[str, ...], list[tuple[str, int, int]]] = defaultdict(list)
    for file in files:
        rows = list(_significant(file))
        for start in range(len(rows) - RUN + 1):
            run = rows[start : start + RUN]
            shape = tuple(shape for _, shape in run)
            places[shape].append((file.path, run[0][0], run[-1][0]))
    pairs: dict[tuple[str, str], str] = {}
    for spots in places.values():
        if 2 <= len(spots) <= COMMON:
            for one, other in combinations(spots, 2):
                if one[0] != other[0] or other[1] > one[2]:
                    text = f"{one[0]}:{one[1]}-{one[2]} ~ {other[0]}:{other[1]}-{other[2]}"
                    pairs.setdefault((one[0], other[0]), text)
    return list(pairs.values())


def _significant(file: File) -> Iterator[tuple[int, str]]:
    """Line numbers and shapes of the lines that count."""
    skipped: set[int] = set()
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            skipped.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.FunctionDef):
            skipped.update(range(node.lineno, node.body[0].lineno))
    for number, line in enumerate(file.lines, 1):
        text = line.strip()
        if number not in skipped and not text.startswith("#") and re.search(r"\w", text):
            yield number, _shape(text)


def _shape(line: str) -> str:
    """Return a line with names, strings and numbers left out."""
    words = []
    for match in _TOKEN.finditer(line):
        word = match.group()
        if match.group(1):
            words.append("s")
        elif word[0].isdigit():
            words.append("0")
        elif word.isidentifier():
            words.append(word if keyword.iskeyword(word) else "n")
        else:
            words.append(word)
    return " ".join(words)


def prose(file: File) -> Iterator[tuple[int, str]]:
    """Yield docstrings, of attributes too, and comments, with the number of their first line."""
    for node in ast.walk(file.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, _CODE.sub("", text)
    for number, line in enumerate(file.lines, 1):
        comment = re.search(r"(?:^|\s{2})# (.*)", line)
        if comment:
            yield number, comment.group(1)


def matches(files: list[File], pattern: re.Pattern[str]) -> list[str]:
    """Return the places in prose where a pattern matches, with the words around."""
    return [
        f"{file.path}:{line}: {text[max(0, match.start() - 30) : match.end() + 30]!r}"
        for file in files
        for line, text in prose(file)
        for match in pattern.finditer(text)
    ]


def fragments(files: list[File]) -> tuple[int, list[str]]:
    """Count docstrings of functions, and return the first words of those without an imperative."""
    functions = [
        (file.path, node, docstring)
        for file in files
        for node in ast.walk(file.tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and not any("property" in ast.unparse(decorator) for decorator in node.decorator_list)
        and (docstring := ast.get_docstring(node))
    ]
    return len(functions), [
        f"{path}:{node.lineno}: {docstring.splitlines()[0]}"
        for path, node, docstring in functions
        if not _is_imperative(docstring.split()[0])
    ]


def _is_imperative(word: str) -> bool:
    bare = word.rstrip(",:;.")
    is_third_person = bare.endswith("s") and not bare.endswith("ss")
    return bare.isalpha() and not is_third_person and not _NO_IMPERATIVE.fullmatch(bare)


def count_all(files: list[File]) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Return each count, and its items."""
    definitions, missing = undocumented(files)
    lines = sum(len(file.lines) for file in files)
    words = sum(len(_WORD.findall(text)) for file in files for _, text in prose(file))
    num_functions, without_imperative = fragments(files)
    parts = {
        "folders": crowded_folders(files),
        "names": repeated_names(files),
        "vague": vague_names(files),
        "documented": missing,
        "repeated": repetitions(files),
        "clauses": matches(files, re.compile(r"\bwhat\b", re.IGNORECASE)),
        "fragments": without_imperative,
        "dialect": matches(files, _DIALECT),
        "verbless": matches(files, _VERBLESS),
        "relatives": matches(files, _RELATIVE),
        "pronouns": matches(files, _PRONOUN),
        "residue": matches(files, _RESIDUE),
    }
    counts: dict[str, float] = {name: len(part) for name, part in parts.items()}
    per_word = ("clauses", "dialect", "relatives", "pronouns")
    for names, total in ((("vague", "repeated"), lines), (per_word, words)):
        counts.update({name: round(1000 * len(parts[name]) / max(1, total), 2) for name in names})
    counts["fragments"] = round(100 * len(without_imperative) / max(1, num_functions), 1)
    counts["documented"] = round(100 * (1 - len(missing) / max(1, definitions)), 1)
    return counts, parts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "gpugraph")
    parser.add_argument("--list", choices=list(BOUNDS), help="print what this count is made of")
    options = parser.parse_args()
    files = read_files(options.folder)
    counts, parts = count_all(files)
    if options.list:
        print(*parts[options.list], sep="\n")
    beyond = [
        name
        for name, bound in BOUNDS.items()
        if (counts[name] < bound if name == "documented" else counts[name] > bound)
    ]
    for name, bound in BOUNDS.items():
        mark = "  beyond its bound" if name in beyond else ""
        print(f"{name:12}{counts[name]:8g}   bound {bound:g}{mark}")
    by_folder = Counter()
    for file in files:
        by_folder[file.path.partition("/")[0] if "/" in file.path else "."] += len(file.lines)
    print(f"{'lines':12}{sum(by_folder.values()):8,}  ", end=" ")
    print(", ".join(f"{name} {count:,}" for name, count in by_folder.most_common()))
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
