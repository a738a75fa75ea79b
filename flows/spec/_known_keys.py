"""Which keys a section may have, and which stand somewhere else: for the fault of a key that nobody knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

__all__ = ["KnownKeys"]


class KnownKeys:
    """The keys of a file with a JSON Schema, which is drawn up when the first of them is asked for."""

    def __init__(self, draw_up: Callable[[], Mapping[str, Any]]) -> None:
        self._draw_up = draw_up

    @cached_property
    def _schema(self) -> Mapping[str, Any]:
        return self._draw_up()

    @cached_property
    def everywhere(self) -> frozenset[str]:
        """Return every key of every section."""
        sections = (self._schema, *self._schema["$defs"].values())
        return frozenset(key for section in sections for key in section.get("properties", ()))

    def at(self, place: Sequence[int | str]) -> tuple[str, ...]:
        """Return the keys that the section at this place may have; the name of a mechanism follows the number of its
        settings, as pydantic tells places."""
        section = self._schema
        for part in place:
            section = self._referred(section)
            if isinstance(part, int):
                section = section.get("items", {})
            elif part in section.get("properties", {}):
                section = section["properties"][part]
            elif "discriminator" in section:
                section = {"$ref": section["discriminator"]["mapping"].get(part, "")}
            else:
                section = section.get("additionalProperties") or {}
        return tuple(self._referred(section).get("properties", {}))

    def _referred(self, section: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a part of the schema refers to; a section that may be left out refers to itself or to nothing."""
        for choice in (section, *section.get("anyOf", ())):
            found: Mapping[str, Any] | None = self._schema["$defs"].get(str(choice.get("$ref", "")).rpartition("/")[2])
            if found is not None:
                return found
        return section
