"""A question, settled before any row is read: what is asked, how it is answered, what it costs, what is promised.

    key = keyed(K, "question", canonical(source, edition, query, method, epsilon, terms, prior, columns used))      (1)

prior: where the draw comes from it, else none, whatever was given for a plan. Whoever asks the same of the same records
again gets the same answer by (1), and nothing is spent. Nothing else decides an answer: neither who asks nor when. What
is stored follows from (1) and the draw alone, so it tells nobody which prior another one planned with.

Before, the key held every prior that was given (2). Answers of that time are still found by whoever gives the same
prior again. Whoever gives another one is charged once more: which priors were given is on no record.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.questions import CONFIDENCE, Drawn, Expected, Method, Query, Terms, whole_number
from penstock.records.files.digest import canonical, keyed
from penstock.records.home import Home
from penstock.records.ledger.accounts import Claim
from penstock.tasks.questions.identity import Identity

__all__ = ["Question"]

_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, in public terms alone.

    name, dataset, edition, source, declared, terms: of the data description. text: the query as one line.
    prior: as it was given; None where there is none. records: how many there are, where that is public. acknowledges:
    earlier releases that no common promise covers.
    """

    name: str
    dataset: str
    edition: str | None
    source: str
    declared: Mapping[str, Column]
    terms: Terms
    query: Query
    text: str
    method: Method
    epsilon: Fraction
    guarantee: Guarantee
    prior: Mapping[str, Any] | None = None
    records: int | None = None
    acknowledges: tuple[str, ...] = ()

    @property
    def used(self) -> dict[str, Column]:
        """Return the declared columns that decide the answer."""
        return {name: self.declared[name] for name in self.method.columns}

    @property
    def is_about_one(self) -> bool:
        """Return whether it is about one named individual."""
        return self.query.individual is not None

    @property
    def shown(self) -> str:
        """Return the text for logs and pages that others read: without the name of an individual."""
        return self.text if not self.is_about_one else f"value of {self.query.of} for one individual"

    @property
    def drawn_prior(self) -> Mapping[str, Any] | None:
        """Return the prior that decides the draw; None if there is none."""
        return self.prior if self.method.draws_from_prior else None

    def key(self, home: Home, identity: Identity) -> str:
        """Return (1)."""
        return self._key(home, identity, self.drawn_prior)

    def former_key(self, home: Home, identity: Identity) -> str | None:
        """Return (2); None where it is the same as (1)."""
        return None if self.prior == self.drawn_prior else self._key(home, identity, self.prior)

    def _key(self, home: Home, identity: Identity, prior: Mapping[str, Any] | None) -> str:
        content = {
            "source": identity.source,
            "edition": self.edition,
            "query": {**self.query.model_dump(mode="json"), "individual": self._whom},
            "method": self.method.name,
            "epsilon": str(self.epsilon),
            "terms": self._terms,
            "prior": None if prior is None else dict(prior),
            "columns": {name: column.model_dump(mode="json") for name, column in self.used.items()},
        }
        return keyed(home.secret_key(), "question", canonical(content))

    def individual(self, home: Home) -> str | None:
        """Return the keyed digest of the individual that it is about, if it is about one.

        Every name under which the same person can be found has one digest: where numbers are stored, 017 finds 17. In
        texts these may be two people; they are then charged together, which counts too much and never too little.
        """
        if self._whom is None:
            return None
        number = whole_number(self._whom)
        charged = self._whom if number is None else str(number)
        return keyed(home.secret_key(), "individual", str(self.terms.whose), charged)

    def claim(self, identity: Identity) -> Claim:
        """Return what the question asks of the ledger."""
        return Claim(
            dataset=self.dataset,
            source=identity.source,
            model=self.guarantee.model,
            epsilon=self.epsilon,
            adjacency=self.guarantee.adjacency,
            unit=self.guarantee.unit,
            # Whatever this question is about: the analyst's other questions are counted together with it.
            acknowledges=self.acknowledges,
            about=tuple(name for name, column in self.declared.items() if column.role != "identifier"),
            values=identity.values,
            formerly=identity.formerly,
            files=identity.files,
            edition=self.edition,
            table=True,
            whose=self.terms.whose,
        )

    def facts(self) -> dict[str, Any]:
        """Return what the audit log says of the question."""
        return {"query": self.shown, "method": self.method.name, "name": self.name}

    def expected(self) -> Expected:
        """Return how far the answer may lie from the truth."""
        return self.method.expected(self.epsilon, self.records, CONFIDENCE)

    def document(self, drawn: Drawn) -> dict[str, Any]:
        """Return the answer with everything that is needed to read it, as it is stored and signed."""
        expected = self.method.as_drawn().expected(self.epsilon, self.records, CONFIDENCE)
        return {
            "format": _FORMAT,
            "name": self.name,
            "edition": self.edition,
            "query": self.query.model_dump(mode="json", exclude_none=True),
            "text": self.text,
            "method": self.method.name,
            "epsilon": str(self.epsilon),
            "terms": self._terms,
            "columns": {name: column.model_dump(mode="json") for name, column in self.used.items()},
            "prior": None if self.drawn_prior is None else dict(self.drawn_prior),
            "records": self.records,
            "guarantee": self.guarantee.model_dump(mode="json"),
            "standard_error": expected.standard_error,
            "half_width": expected.half_width,
            "confidence": str(expected.confidence),
            "is_upper_bound": expected.is_upper_bound,
            "is_typical": expected.is_typical,
            "expect": list(expected.sentences),
            "groups": list(self.method.groups),
            "values": list(drawn.values),
            "errors": None if drawn.errors is None else list(drawn.errors),
        }

    @property
    def _whom(self) -> str | None:
        """Return the individual as text: the number 17 and the text 17 name one person."""
        return None if self.query.individual is None else str(self.query.individual)

    @property
    def _terms(self) -> dict[str, Any]:
        return {
            "adjacency": self.terms.adjacency,
            "whose": self.terms.whose,
            "rows_per_unit": self.terms.rows_per_unit,
        }
