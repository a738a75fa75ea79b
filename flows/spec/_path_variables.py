"""`${VAR}` in a path of a spec, replaced by the variable of the environment, unless its name is that of a secret.

A path is shown: in refusals, in plans, in the log. Whoever writes a spec that a service runs could have the service's
passwords shown by a path that does not exist. So names that are usual for secrets are refused, and so are values that
are addresses with a password; the refusal gives only the name.
"""

from __future__ import annotations

import os
import re

from penstock.mechanisms.refusal import Fault

__all__ = ["expanded"]

_VARIABLE = re.compile(r"\$\{(\w+)\}")
# Settings of the systems that Penstock talks to. Its own for paths, such as PENSTOCK_DATA, are meant for this.
_SETTINGS = ("AWS_", "OPENLINEAGE_", "PENSTOCK_DB", "PENSTOCK_WEBHOOK", "PREFECT_")
_ANYWHERE = re.compile("SECRET|TOKEN|PASSW|PASSPHRASE|CREDENTIAL|APIKEY|COOKIE|BEARER")
_AS_A_WORD = frozenset({"AUTH", "DSN", "KEY", "KEYS", "PASS", "PAT", "PRIVATE", "SESSION"})
_PASSWORD_IN_IT = re.compile(r"://[^/]*@")


def expanded(text: str, field: str, faults: list[Fault]) -> str:
    """Return the text with its variables replaced; those that cannot be stay, and each adds a fault to `faults`."""

    def value_of(match: re.Match[str]) -> str:
        value = os.environ.get(match[1])
        if _is_secret(match[1]):  # set or not
            rule = "must not name a variable that may hold a secret: paths are shown"
        elif value is None:
            faults.append(Fault(field, "must name a variable that is set", "Set the variable.", match[0]))
            return match[0]
        elif _PASSWORD_IN_IT.search(value):
            rule = "must not name a variable with an address that holds a password: paths are shown"
        else:
            return value
        faults.append(Fault(field, rule, "Put the path into a variable of another name.", match[0]))
        return match[0]

    return _VARIABLE.sub(value_of, text)


def _is_secret(name: str) -> bool:
    """Return whether a variable with this name may hold a secret."""
    upper = name.upper()
    named_so = _ANYWHERE.search(upper) is not None or not _AS_A_WORD.isdisjoint(upper.split("_"))
    return named_so or upper.startswith(_SETTINGS)
