"""Verification of a published answer, offline: its signature, its form, and that promise and question agree."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from pydantic import ValidationError

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import MODELS
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.signing import signing
from penstock.tasks.questions.signed import SignedAnswer, opened, read_published
from penstock.tasks.questions.stored import method_of
from penstock.tasks.verification.bundle import ClaimBroken, Finding, KeyMissing

__all__ = ["verify_answer"]

_REMEDY = "Do not rely on the answer; ask its publisher."


def verify_answer(path: Path, public_key: Path) -> list[Finding]:
    """Check a published answer; refuse one that is not as signed, or whose promise does not fit its question."""
    if not public_key.is_file():
        raise KeyMissing.at(
            "--key", rule="must be the publisher's public key file", got=str(public_key), remedy="Ask the publisher."
        )
    key = signing.public_key(public_key)
    found = opened(read_published(path), key)
    ClaimBroken.raise_for(_faults(found, path))
    answer, guarantee = found.answer, found.guarantee
    unseen = MODELS[guarantee.model].unseen
    return [
        Finding("signature", True, f"The answer is signed with key {signing.key_id(key)}."),
        Finding("question", True, f"It answers: {answer.text}"),
        Finding(
            "promise", True, f"{guarantee.in_short} follows from the question, the method and the declared columns."
        ),
        Finding("answer", True, f"{len(answer.values)} of {len(answer.groups)} groups are answered, as was asked."),
        *(() if unseen is None else (Finding(unseen[0], False, unseen[1]),)),
        Finding("budget", False, "That it was charged before it was drawn stands in the publisher's audit log."),
        Finding("log head", False, "Only the publisher's audit log can confirm the digest of its last event."),
    ]


def _faults(found: SignedAnswer, path: Path) -> list[Fault]:
    answer = found.answer

    def fault(rule: str) -> Fault:
        return Fault(path.name if path.name.isprintable() else "answer", rule, _REMEDY)

    try:
        method = method_of(answer)
        promised = method.guarantee(Fraction(answer.epsilon))
    except (ValidationError, Refusal, KeyError, ValueError, ZeroDivisionError):
        return [fault("must hold a question that its method can answer, of the columns that it declares")]
    faults = []
    if not _same(promised, found.guarantee):
        faults.append(fault("must promise what its method promises: model, adjacency, unit and epsilon"))
    if (list(method.groups), len(answer.values)) != (answer.groups, len(answer.groups)):
        faults.append(fault("must hold one answer for each declared group"))
    if answer.errors is not None and len(answer.errors) != len(answer.values):
        faults.append(fault("must hold one error for each answer, or none"))
    return faults


def _same(promised: Guarantee, stated: Guarantee) -> bool:
    """Return whether two promises are one. Their words may differ: later versions may say it better."""

    def facts(each: Guarantee) -> tuple[object, ...]:
        return each.model, each.adjacency, each.unit, Fraction(each.parameters["epsilon"])

    return facts(promised) == facts(stated)
