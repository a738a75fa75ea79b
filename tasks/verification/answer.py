"""Verification of a published answer, offline: its signature, its form, and that promise and question agree."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import MODELS
from penstock.mechanisms.numbers.exact import stated_number
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.bundle.statement import BundleMissing
from penstock.records.signing import signing
from penstock.tasks.questions.signed import PublishedAnswerAltered, SignedAnswer, opened, read_published
from penstock.tasks.questions.stored import method_of
from penstock.tasks.verification.bundle import ClaimBroken, Finding, KeyMissing

__all__ = ["AnswerFinding", "verify_answer"]

_REMEDY = "Do not rely on the answer; ask its publisher."


@dataclass(frozen=True, slots=True)
class AnswerFinding(Finding):
    """That the answer is whole, and the answer itself.

    answer: question, values by group, errors, method and promise, with the names that an `Answer` has.
    """

    answer: Mapping[str, Any]


def verify_answer(path: Path, public_key: Path) -> list[Finding]:
    """Check a published answer; refuse one that is not as signed, or whose promise does not fit its question."""
    if not public_key.is_file():
        raise KeyMissing.at(
            "--key", rule="must be the publisher's public key file", got=str(public_key), remedy="Ask the publisher."
        )
    if not path.exists():
        raise BundleMissing.at("answer", rule="must be a file that exists", got=str(path), remedy="Check the path.")
    key = signing.public_key(public_key)
    content = read_published(path)
    try:
        found = opened(content, key)
    except PublishedAnswerAltered as refused:
        named = signing.key_id(key)
        raise PublishedAnswerAltered(*(_signature_fault(each, content, named) for each in refused.faults)) from None
    ClaimBroken.raise_for(_faults(found, path))
    answer, guarantee = found.answer, found.guarantee
    unseen = MODELS[guarantee.model].unseen
    return [
        Finding("signature", True, f"The answer is signed with key {signing.key_id(key)}."),
        Finding("question", True, f"It answers: {answer.text}"),
        Finding(
            "promise", True, f"{guarantee.in_short} follows from the question, the method and the declared columns."
        ),
        AnswerFinding(
            "answer",
            True,
            f"{len(answer.values)} of {len(answer.groups)} groups are answered, as was asked.",
            _told(found),
        ),
        *(() if unseen is None else (Finding(unseen[0], False, unseen[1]),)),
        Finding("budget", False, "That it was charged before it was drawn stands in the publisher's audit log."),
        Finding("log head", False, "Only the publisher's audit log can confirm the digest of its last event."),
    ]


def _told(found: SignedAnswer) -> dict[str, Any]:
    """Return what the file says, as `Answer.as_dict` does."""
    answer, guarantee = found.answer, found.guarantee
    errors = None if answer.errors is None else dict(zip(answer.groups, answer.errors, strict=True))
    return {
        "name": answer.name,
        "edition": answer.edition,
        "query": answer.text,
        "values": dict(zip(answer.groups, answer.values, strict=True)),
        "errors": errors,
        "method": answer.method,
        "model": guarantee.model,
        "epsilon": answer.epsilon,
        "promise": guarantee.statement,
        "standard_error": answer.standard_error,
        "half_width": answer.half_width,
        "is_upper_bound": answer.is_upper_bound,
        "is_typical": answer.is_typical,
        "expect": list(answer.expect),
    }


def _signature_fault(fault: Fault, content: bytes, given: str) -> Fault:
    """Return a fault of the signature under its own name, and say so if the file names another key."""
    if "over this content" not in fault.rule:
        return fault
    named = _named_key(content)
    if named is None or named == given:
        return Fault("signature", fault.rule, fault.remedy)
    return Fault(
        "signature",
        fault.rule,
        "This may be another publisher's key: ask the publisher of the answer for theirs, and check with --key. If it "
        "is theirs, do not use the answer.",
        f"a signature that names key {named}",
    )


def _named_key(content: bytes) -> str | None:
    """Return the key that a file says it was signed with; nothing proves it."""
    try:
        [signature] = json.loads(content)["signatures"]
        named = signature["keyid"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return named if isinstance(named, str) and re.fullmatch("[0-9a-f]{16}", named) else None


def _faults(found: SignedAnswer, path: Path) -> list[Fault]:
    answer = found.answer

    def fault(rule: str) -> Fault:
        return Fault(path.name if path.name.isprintable() else "answer", rule, _REMEDY)

    try:
        method = method_of(answer)
        promised = method.guarantee(stated_number(answer.epsilon))
        is_same = _same(promised, found.guarantee)
    except (ValidationError, Refusal, KeyError, ValueError, ZeroDivisionError):
        return [fault("must hold a question that its method can answer, of the columns that it declares")]
    faults = []
    if not is_same:
        faults.append(fault("must promise what its method promises: model, adjacency, unit and epsilon"))
    if (list(method.groups), len(answer.values)) != (answer.groups, len(answer.groups)):
        faults.append(fault("must hold one answer for each declared group"))
    if answer.errors is not None and len(answer.errors) != len(answer.values):
        faults.append(fault("must hold one error for each answer, or none"))
    return faults


def _same(promised: Guarantee, stated: Guarantee) -> bool:
    """Return whether two promises are one. Their words may differ: later versions may say it better."""

    def facts(each: Guarantee) -> tuple[object, ...]:
        return each.model, each.adjacency, each.unit, stated_number(each.parameters["epsilon"])

    return facts(promised) == facts(stated)
