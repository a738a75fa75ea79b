"""A command as it is typed, in this process: its exit code and everything that it printed."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from penstock.cli import main as cli

# Of the table in `penstock --help`.
EXIT_CODES = frozenset({0, 1, 2, 3, 4, 5, 6, 7})


@dataclass(frozen=True)
class Typed:
    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err

    def require_refusal(self, *codes: int) -> None:
        """It ended with one of these codes and with a refusal, not with an accident."""
        assert self.code in codes, self
        assert "Refused (" in self.err, self
        assert "Traceback" not in self.text, self


def typed(*arguments: object) -> Typed:
    """Whatever is no refusal and no exit goes through: it would be a traceback on the screen."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    line = ["penstock", *map(str, arguments)]
    with mock.patch.object(sys, "argv", line), redirect_stdout(out), redirect_stderr(err):
        try:
            cli.main()
        except SystemExit as ended:
            code = ended.code
    return Typed(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
