"""XML from a template: what XML cannot hold is replaced, a value that was not given is an error."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

__all__ = ["rendered"]

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def rendered(template: str, **facts: Any) -> str:
    """Return the text of a template with these facts; the filter `characters` in it is for text from outside."""
    return _ENVIRONMENT.get_template(template).render(**facts)


def _characters(text: str) -> Markup:
    """Return the text escaped, with what XML cannot hold replaced, and with line ends unchanged."""
    return escape(_NOT_IN_XML.sub("\ufffd", text)).replace("\r", Markup("&#13;"))


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["characters"] = _characters
