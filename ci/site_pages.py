"""Hooks of mkdocs (mkdocs.yml): the pages of the site that are no files in docs/.

The home page is README.md. Further pages are CONTRIBUTING.md, CHANGELOG.md and the reference of the
public names, with one page for each public module.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.structure.files import File, Files

from gpugraph.api.import_paths import TENSORFLOW_MODULES

ROOT = Path(__file__).resolve().parents[1]
FILES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md",
         "CHANGELOG.md": "changelog.md"}  # fmt: skip
MOST_IN_LINE = 60
EXAMPLE = re.compile(r"^( *)>>> ", re.MULTILINE)


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for source, page in FILES.items():
        files.append(File.generated(config, page, content=site_text((ROOT / source).read_text())))
    for name, text in reference_pages():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page's text with its links changed to those of the site."""
    return site_text(markdown)


def site_text(text: str) -> str:
    """Return the text of a page with links to other files changed to links to their pages."""
    for source, page in FILES.items():
        text = re.sub(rf"\]\((\.\./)?{re.escape(source)}", f"]({page}", text)
    text = re.sub(r"^```python (\S+)$", r'```python title="\1"', text, flags=re.MULTILINE)
    return re.sub(r"\]\(docs/", "](", text)


def reference_pages() -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each page of the reference: its index, and the public modules."""
    index = ["# Reference", "", "All public names of `import gpugraph as tf`, by module.", ""]
    for path, module in sorted(TENSORFLOW_MODULES.items()):
        names = public_names(module)
        title = f"tf.{path}" if path else "tf"
        if names:
            page = f"{title}.md"
            index.append(f"- [{title}]({page}): {len(names)} names")
            yield f"reference/{page}", module_page(title, module, names)
    yield "reference/index.md", "\n".join(index) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """Return the functions, classes and constants of a public module."""
    names = getattr(module, "__all__", ())  # none: the modules of an optional package
    return [name for name in names if not inspect.ismodule(getattr(module, name))]


def module_page(title: str, module: ModuleType, names: list[str]) -> str:
    """Return the page of a module."""
    parts = [f"# {title}", (inspect.getdoc(module) or "") if title != "tf" else ""]
    for name in names:
        parts += described(f"{title}.{name}", getattr(module, name))
    return "\n\n".join(part for part in parts if part) + "\n"


def described(path: str, value: Any) -> Iterator[str]:
    """Yield the parts of the text about one public name."""
    yield f"## {path}"
    if not (inspect.isclass(value) or callable(value)):
        yield f"`{value!r}`"[:200]
        return
    yield f"```python\n{path.rpartition('.')[2]}{signature(value)}\n```"
    yield documented(inspect.getdoc(value) or "")
    if inspect.isclass(value):
        yield from methods(value)


def methods(cls: type) -> Iterator[str]:
    """Yield a line for each public method and property that the class itself defines."""
    for name, member in sorted(vars(cls).items()):
        if name.startswith("_") or not (callable(member) or isinstance(member, property)):
            continue
        first = (inspect.getdoc(member) or "").partition("\n\n")[0].replace("\n", " ")
        shown = " ".join(signature(member).split()) if callable(member) else ""
        yield f"- **`{name}{shown}`**: {escaped(first)}"


def signature(value: Any) -> str:
    """Return the signature as text, or an empty string if there is none.

    A long one has a line for each parameter.
    """
    try:
        whole = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    parameters = [plain(str(parameter)) for parameter in whole.parameters.values()]
    result = whole.return_annotation
    end = ")" if result is inspect.Signature.empty or inspect.isclass(value) else f") -> {result}"
    if sum(map(len, parameters)) < MOST_IN_LINE:
        return plain(f"({', '.join(parameters)}{end}")
    return plain("(" + "".join(f"\n    {parameter}," for parameter in parameters) + f"\n{end}")


def plain(text: str) -> str:
    """Return a parameter without quotation marks around its type, and without module names."""
    text = re.sub(r": '([^']*)'", r": \1", text)
    return re.sub(r"<(?:class|function) '?([\w.]+)'?(?: at \w+)?>|gpugraph\.[\w.]*\.", r"\1", text)


def documented(text: str) -> str:
    """Return a docstring as Markdown: its prose as preformatted lines, examples as code."""
    prose, example = [], []
    for line in text.splitlines():
        (example if EXAMPLE.match(line) or (example and line.strip()) else prose).append(line)
    parts = [f"```text\n{chr(10).join(prose).rstrip()}\n```"] if prose else []
    parts += [f"```pycon\n{chr(10).join(example)}\n```"] if example else []
    return "\n\n".join(parts)


def escaped(text: str) -> str:
    """Return text in which Markdown changes nothing."""
    return re.sub(r"([\\*_{}\[\]<>#|])", r"\\\1", text)
