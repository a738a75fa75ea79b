"""What a release asks of the ledger before it draws, and the subjects under which it is found again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.mechanisms.models import ADDS_UP, Model

__all__ = ["Claim", "dataset_subject", "file_subject", "source_subject", "values_subject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A release's request to the ledger before it draws.

    delta: the probability of which epsilon says nothing; 0 in claims of versions that had none.
    source: keyed digest of the source's content; the same content is recognised by it under any name.
    values: keyed digest of the records' values, whatever file holds them; None in claims of versions that did not
    record it.
    formerly: the digest that versions before `values` gave the same source, under which their claims are found; it does
    not cover the names of partitions, so for two claims of this version it says nothing.
    files: keyed digests of the bytes of its files, without their names and folders; none in claims of versions that did
    not record them. Whoever shares one shares its records, whatever the folders add to them.
    edition: the public name of this state of data that change; None if the records of a data set never change.
    column, part: the release uses only the records whose declared `column` is `part`.
    acknowledges: earlier releases of the same records that no common promise covers.
    about: the columns that the release is made from; None in claims of versions that did not record them.
    table: whether the output is a table, not records; None in claims of versions that did not record it.
    repeats: the run whose table comes out again. Such a claim has no epsilon: that run was charged for the draw.
    whose: if the unit is an individual, the column that tells whose record it is; None in claims of versions that did
    not record it.
    output: which output of the release it is for; None where the release has one, without a name.
    counted: whether the number of its records is published as it is.
    chosen: the columns by whose values some of the records were chosen; none in claims of versions that did not record
    them apart from the others.
    """

    dataset: str | None
    source: str
    model: Model
    epsilon: Fraction | None
    adjacency: str
    unit: str
    column: str | None = None
    part: str | None = None
    acknowledges: tuple[str, ...] = ()
    about: tuple[str, ...] | None = None
    values: str | None = None
    edition: str | None = None
    formerly: str | None = None
    table: bool | None = None
    repeats: str | None = None
    files: tuple[str, ...] = ()
    whose: str | None = None
    delta: Fraction = Fraction(0)
    output: str | None = None
    counted: bool = False
    chosen: tuple[str, ...] = ()

    @property
    def records(self) -> frozenset[str]:
        """Return the subjects by which these records are found again, under whatever name."""
        valued = () if self.values is None else (values_subject(self.values),)
        return frozenset((source_subject(self.source), *valued))

    @property
    def known_by(self) -> frozenset[str]:
        """Return the same, with the subjects by which versions before `values` knew the records, and one for each file.
        For two claims of this version these say only that some files are the same except for their folders: enough to
        count both together, not to call them one."""
        return self.known_as_whole.union(file_subject(file) for file in self.files)

    @property
    def known_as_whole(self) -> frozenset[str]:
        """Return the same without the files, some of which a release of the whole shares with each part."""
        former = () if self.formerly is None else (source_subject(self.formerly),)
        return self.records.union(former)

    @property
    def may_be_table(self) -> bool:
        """Return whether the output is a table, or may have been one: two models never make any."""
        return self.table is True or (self.table is None and self.model not in ("prob_k", "t_close"))

    @property
    def subjects(self) -> tuple[str, ...]:
        """Return the subjects under which this release is found again."""
        named = () if self.dataset is None else (dataset_subject(self.dataset),)
        return (*named, *sorted(self.known_by))

    def has_records_of(self, other: Claim) -> bool:
        """Return whether both are certainly about the same records: the same content, or the same values saved
        again."""
        if self.values is not None and self.values == other.values:
            return True
        return self.source in (other.source, other.formerly) or other.source == self.formerly

    def part_by(self, partition: str | None) -> str | None:
        """Return its part of a partition; None if it is about the whole, or about a part of another column."""
        return self.part if partition is not None and self.column == partition else None

    def is_among_files_of(self, whole: Claim) -> bool:
        """Return whether every file that it is made from is one of the other's."""
        return bool(self.files) and set(self.files) <= set(whole.files)

    def is_known_to_be_of_data_of(self, other: Claim, partition: str | None) -> bool:
        """Return whether both are about one actual data set: the same records in the same edition; or different parts
        of the partition that their account was opened with, which its officer declares to be of one data set; or a part
        of it and the whole, as their files show."""
        mine, its = self.part_by(partition), other.part_by(partition)
        if self.edition != other.edition:
            return False
        if mine is None and its is not None:
            return self.has_records_of(other) or other.is_among_files_of(self)
        if mine is not None and its is None:
            return self.has_records_of(other) or self.is_among_files_of(other)
        return mine != its or self.has_records_of(other)

    def is_apart_from(self, other: Claim) -> bool:
        """Return whether nobody is in both: rows of different parts of one partition. An individual may have rows in
        both, and so may anyone who moved between two editions; and whatever is declared, the same records are not
        apart."""
        parts, units = {self.part, other.part}, {self.unit, other.unit}
        same_column = self.column is not None and self.column == other.column
        said_apart = same_column and len(parts - {None}) == 2 and units == {"row"} and self.edition == other.edition
        return said_apart and not self.has_records_of(other) and set(self.files).isdisjoint(other.files)

    def shares_with(self, other: Claim) -> tuple[str, ...]:
        """Return the columns that both releases are made from; all of this one's if the other does not record its
        own. Beside an exact release also those by which one of the two chooses its records, or its part: totals are
        figures of everybody, so the difference is about who was not chosen, whatever columns the tables show."""
        theirs = None if other.about is None else frozenset(other.about)
        both = [name for name in self.about or () if theirs is None or name in theirs]
        if not {self.model, other.model} <= ADDS_UP and self._choice != other._choice:
            both += self._chosen_by + other._chosen_by
        return tuple(dict.fromkeys(both))

    @property
    def _choice(self) -> tuple[frozenset[str], str | None, str | None]:
        return frozenset(self.chosen), self.column, self.part

    @property
    def _chosen_by(self) -> list[str]:
        return [*self.chosen, *(() if self.column is None else (self.column,))]

    def facts(self) -> dict[str, Any]:
        """Return the claim in the form that the log holds."""
        return {
            "dataset": self.dataset,
            "source": self.source,
            "model": self.model,
            "epsilon": None if self.epsilon is None else str(self.epsilon),
            "adjacency": self.adjacency,
            "unit": self.unit,
            "column": self.column,
            "part": self.part,
            "acknowledges": list(self.acknowledges),
            "about": None if self.about is None else list(self.about),
            "values": self.values,
            "edition": self.edition,
            "formerly": self.formerly,
            "table": self.table,
            "repeats": self.repeats,
            "files": list(self.files),
            "whose": self.whose,
            **({"delta": str(self.delta)} if self.delta else {}),
            **({} if self.output is None else {"output": self.output}),
            **({"counted": True} if self.counted else {}),
            **({"chosen": list(self.chosen)} if self.chosen else {}),
        }

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Claim:
        """Return the claim in an event."""
        epsilon = facts["epsilon"]
        return cls(
            dataset=facts["dataset"],
            source=facts["source"],
            model=facts["model"],
            epsilon=None if epsilon is None else Fraction(epsilon),
            adjacency=facts["adjacency"],
            unit=facts["unit"],
            column=facts["column"],
            part=facts["part"],
            acknowledges=tuple(facts["acknowledges"]),
            about=None if facts.get("about") is None else tuple(facts["about"]),
            values=facts.get("values"),
            edition=facts.get("edition"),
            formerly=facts.get("formerly"),
            table=facts.get("table"),
            repeats=facts.get("repeats"),
            files=tuple(facts.get("files") or ()),
            whose=facts.get("whose"),
            delta=Fraction(facts.get("delta", 0)),
            output=facts.get("output"),
            counted=facts.get("counted", False),
            chosen=tuple(facts.get("chosen", ())),
        )


def dataset_subject(dataset: str) -> str:
    return f"dataset {dataset}"


def source_subject(source: str) -> str:
    return f"source {source}"


def file_subject(file: str) -> str:
    return f"file {file}"


def values_subject(values: str) -> str:
    return f"values {values}"
