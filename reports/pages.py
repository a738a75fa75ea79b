"""The pages: the validation page and the report for the house, the report for the public, and that of an answer.

Each page is one self-contained HTML text: no script, no outside request, nothing written to disk.
A value that a template needs and was not given is an error, never a blank. The public page is built
from its own, smaller set of facts, so no measured value can get into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import ADDS_UP, MODELS
from penstock.mechanisms.numbers.rounded import answer_text, exact_text, figure_text
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.reports.page_facts import ConfidentialReport, PublicReport, SeveralConfidential, SeveralPublic
from penstock.reports.promise_parts import common, lines_of, without
from penstock.reports.relaxed_words import relaxation_in_short
from penstock.reports.words import counted, number, words

__all__ = [
    "AnswerSheet",
    "SecretInReport",
    "ValidationOutcome",
    "answer_report",
    "confidential_report",
    "number",
    "public_report",
    "validation_page",
]

Facts = Mapping[str, Any]

_VERDICTS = {"pass": "passed", "review": "needs review", "refuse": "refused"}
_SEVERITY = ("refuse", "review", "pass")


class SecretInReport(Refusal):
    """A parameter that the guarantee lists as secret was on its way to the public page."""

    code = "secret-in-report"
    kind = "integrity"
    remedy = "Report this defect; nothing was published."


class ValidationOutcome(Protocol):
    """The facts about one expectation that the validation page shows."""

    @property
    def expectation(self) -> str: ...
    @property
    def column(self) -> str | None: ...
    @property
    def rule(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def success(self) -> bool: ...
    @property
    def unexpected(self) -> int | None: ...
    @property
    def total(self) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSheet:
    """One answer for whoever asked. values: group, answer, and its error where the draw shows it. picture: an SVG of
    ours."""

    name: str
    query: str
    method: str
    epsilon: str
    values: Sequence[tuple[str, int | float | str, float | None]]
    standard_error: float | None
    half_width: float | None
    is_upper_bound: bool
    is_typical: bool
    expect: Sequence[str]
    guarantee: Guarantee
    picture: str


def answer_report(sheet: AnswerSheet) -> str:
    """Return the page of one answer: what was asked, what was answered, how far it may stray, what is promised."""
    drawn = Markup(sheet.picture)  # made by reports.question_picture
    return _render("answer.html", sheet=sheet, guarantee=sheet.guarantee, picture=drawn)


def validation_page(name: str, run: str, results: Sequence[ValidationOutcome]) -> str:
    """Return the page that lists the expectations that failed, with counts and shares, then those that were met.
    Confidential."""
    failed = [result for result in results if not result.success]
    met = [result for result in results if result.success]
    rows = results[0].total if results else 0
    return _render("validation.html", name=name, run=run, rows=rows, failed=failed, met=met)


def confidential_report(report: ConfidentialReport | SeveralConfidential) -> str:
    """Return the page with the decision, its reasons, the promise, every measure and the settings. Confidential."""
    settings = yaml.safe_dump(dict(report.spec), sort_keys=False, allow_unicode=True, width=100)
    if isinstance(report, SeveralConfidential):
        return _render("confidential_several.html", report=report, settings=settings)
    return _render("confidential.html", report=report, guarantee=report.guarantee, settings=settings)


def public_report(report: PublicReport | SeveralPublic) -> str:
    """Return the page that says what was promised, how to use the data, what it is not, and how to check the files."""
    if isinstance(report, SeveralPublic):
        for each in report.outputs:
            _require_no_secret(each)
        return _render("public_several.html", report=report, common=common(report.outputs))
    _require_no_secret(report)
    return _render("public.html", report=report, guarantee=report.guarantee, common=common([report]))


def _require_no_secret(report: PublicReport) -> None:
    secret = {_plain(item) for item in report.guarantee.secret}
    SecretInReport.raise_for(
        Fault(
            f"guarantee.parameters.{name}",
            "must not be shown: the guarantee itself lists it as secret",
            "Remove it from the parameters of the mechanism's guarantee.",
        )
        for name in _names(report.guarantee.parameters)
        if _plain(name) in secret
    )


def _interval(bounds: Sequence[float] | None) -> str:
    return "–" if bounds is None else f"{number(bounds[0])} to {number(bounds[1])}"


def _share(part: int | None, total: int) -> str:
    """Return a percentage that never says 0 % of something or 100 % of not everything."""
    if part is None or total == 0:
        return "–"
    if 0 < part < total:
        percent = 100 * part / total
        return "below 0.1 %" if percent < 0.1 else "above 99.9 %" if percent > 99.9 else f"{percent:.1f} %"
    return "100 %" if part else "0 %"


def _size(count: int) -> str:
    amount, unit = float(count), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{count} bytes" if unit == "bytes" else f"{number(amount)} {unit}"


def _breakable(name: str) -> Markup:
    """Return a long name that may break after an underscore, so that it fits a narrow screen."""
    return Markup("_<wbr>").join(name.split("_"))


def _range(column: Facts) -> str:
    """Return the declared values of a column, from its domain or its categories."""
    if column.get("domain") is not None:
        low, high = column["domain"]
        clamped = "; a value outside counts as the nearest bound" if column.get("outside") == "clamp" else ""
        return f"{low:,.15g} to {high:,.15g}{clamped}"
    if column.get("categories") is not None:
        return ", ".join(str(category) for category in column["categories"])
    return "–"


def _verdict(code: str) -> str:
    return _VERDICTS[code]


def _sentence(decision: Facts, what: str = "release") -> str:
    """Return the decision in one sentence, with the gates that caused it."""
    verdict, results = decision["verdict"], decision["results"]
    if verdict == "pass":
        return f"This {what} may be published: every gate and re-check passed ({len(results)} in all)."
    causes = ", ".join(
        f"{result['output']}: {words(result['gate'])}" if "output" in result else words(result["gate"])
        for result in results
        if result["verdict"] == verdict
    )
    opening = {"review": f"This {what} needs a reviewer's judgement", "refuse": f"This {what} is refused"}[verdict]
    return f"{opening} because of {causes}." if causes else f"{opening}."


def _by_severity(results: Sequence[Facts]) -> list[Facts]:
    return sorted(results, key=lambda result: _SEVERITY.index(result["verdict"]))


def _rule(result: Facts) -> str:
    """Return the rule of a gate, its measure in words; names of columns and tables are left as they are."""
    return str(result["rule"]).replace(result["gate"], words(result["gate"]))


def _columns_of(parts: Iterable[Mapping[str, object]]) -> list[str]:
    """Return the columns of several by-column results, in order of appearance."""
    return list(dict.fromkeys(name for part in parts for name in part))


def _names(value: object) -> Iterator[str]:
    """Yield every key in nested parameters."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield str(key)
            yield from _names(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _names(part)


def _plain(text: str) -> str:
    return text.replace("_", " ").replace("-", " ").strip().lower()


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        adds_up=ADDS_UP.__contains__,
        breakable=_breakable,
        capitalize_first=lambda text: text[:1].upper() + text[1:],
        by_severity=_by_severity,
        columns_of=_columns_of,
        counted=counted,
        exact=exact_text,
        figure=lambda value: "not known" if value is None else figure_text(value),
        lines=lines_of,
        without=without,
        promise=lambda guarantee: MODELS[guarantee.model].in_words(guarantee.parameters),
        rule=_rule,
        in_short=lambda guarantee: guarantee.in_short,
        interval=_interval,
        model_name=lambda name: MODELS[name].title,
        number=number,
        relaxation=relaxation_in_short,
        rounded=answer_text,
        range=_range,
        sentence=_sentence,
        sentence_of_file=lambda decision: _sentence(decision, "file"),
        sentence_of_output=lambda decision: _sentence(decision, "output"),
        share=_share,
        size=_size,
        verdict=_verdict,
        words=words,
    )
    return environment


_ENVIRONMENT = _environment()


def _render(template: str, **facts: Any) -> str:
    return _ENVIRONMENT.get_template(template).render(**facts)
