"""What several commands share: their options, and the files that they write."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, TextIO

import typer

from penstock.mechanisms.refusal import Refusal

__all__ = ["AsJson", "KeyFile", "OutputFile", "OutputRefused", "Reason", "new_file"]

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
KeyFile = Annotated[Path, typer.Option("--key", help="Your private key file, made by `penstock keys new`.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it goes on record. Never quote a value of the data.")]
OutputFile = Annotated[Path | None, typer.Option("--output", "-o", help="File to write; default: standard output.")]


class OutputRefused(Refusal):
    """The file to write exists already, or cannot be made."""

    code = "output-refused"
    remedy = "Choose the name of a new file."


@contextmanager
def new_file(path: Path, option: str = "--output") -> Iterator[TextIO]:
    """Open a file that did not exist before, and remove it afterwards if it could not be written whole."""
    try:
        file = open(path, "x", encoding="utf-8")  # noqa: SIM115  # closed below, before it is removed
    except OSError as error:
        raise OutputRefused.at(
            option, rule=f"must be a new file ({error.strerror})", got=str(path), remedy="Choose another name."
        ) from None
    with ExitStack() as unless_written:
        unless_written.callback(path.unlink)
        with file:
            yield file
        unless_written.pop_all()
