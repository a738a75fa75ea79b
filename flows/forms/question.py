"""The form of a question: what an analyst fills in in the browser is asked of a data set, and charged to them.

A flow run shows its parameters to everybody who has signed in, so a question about one individual is not asked here.
Its answer stays at home: the run's page only links to the page on which whoever asked reads it
(api/server/gateway/_answers.py). Nothing of it is in a state, an artifact or a result.
"""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

import os
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from prefect import flow
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.context import FlowRunContext
from prefect.runtime import flow_run
from prefect.states import Completed
from pydantic import Field

from penstock.flows.answer import Wish, answer
from penstock.flows.query_text import QueryRefused, parse_conditions, query_of
from penstock.flows.question_plan import PlannedMethod, QuestionPlan, plan_question
from penstock.flows.release_by_reference import kept_file, require_home
from penstock.flows.run_ends import told_by_code
from penstock.flows.spec.data_description import load_description
from penstock.mechanisms.numbers.exact import exact_number
from penstock.mechanisms.numbers.rounded import exact_text, figure_text
from penstock.mechanisms.questions import CONFIDENCE
from penstock.mechanisms.refusal import Fault
from penstock.records.home import Home
from penstock.tasks.questions.answered import page_of

__all__ = ["LONGEST", "answer_question"]

LONGEST = 3600  # seconds; an answer that takes longer is stuck, and has cost nothing
_LONGEST_NAME = 80  # characters
Name = Annotated[str, Field(min_length=1)]
Statistic = Literal["count", "sum", "mean", "median", "quantile", "minimum", "maximum"]
MethodName = Literal["usual", "laplace", "staircase", "exponential", "individual", "bootstrap", "refinement"]
# Empty for nothing: Prefect's page shows no field for a text that may also be null.
Exact = Annotated[str, Field(pattern=r"^([0-9]{1,30}(\.[0-9]{1,30}|/[0-9]{1,30})?)?$")]


def run_name(given: Mapping[str, Any]) -> str:
    """Return the name of a run: what it asks of which data, shortened."""
    words = [given["statistic"], *(("of", given["of"]) if given.get("of") else ())]
    words += ["where", " and ".join(given["where"])] if given.get("where") else []
    words += ["by", given["by"]] if given.get("by") else []
    return f"{textwrap.shorten(' '.join(words), _LONGEST_NAME, placeholder=' ...')} ({given['data']})"


@flow(
    name="answer",
    flow_run_name=lambda: run_name(flow_run.parameters),
    persist_result=False,
    log_prints=False,
    retries=0,
    timeout_seconds=LONGEST,
)
@told_by_code
def answer_question(
    *,
    data: Name,
    statistic: Statistic,
    of: str = "",
    share: Exact = "",
    where: list[Name] = [],  # noqa: B006  # Prefect shows it in the form; nobody changes it
    by: str = "",
    method: MethodName = "usual",
    epsilon: Exact = "",
    within: Exact = "",
    confidence: Exact = "0.95",
    plan_only: bool = False,
    started_by: Name,
) -> Any:
    """Ask one question of a data set. It spends epsilon of your allowance; asked again, it costs nothing.

    Args:
        data: The data description: a file in the folder of specs, such as panel-data.yaml.
        statistic: What is asked.
        of: The column that it is asked of, by name; nothing for a count.
        share: Of a quantile only: the share of the records below it, such as 1/4.
        where: Conditions that all must hold, each by itself: sex is F or M, and then age from 18 below 65.
        by: A column of categories, by name: one answer for each of them.
        method: How it is answered. usual: under differential privacy, by the first of laplace, exponential, refinement
            and staircase that can.
        epsilon: What it may cost, exact: 1/4. Leave it empty where the data description says what a question costs, or
            where you say how near the answer must be.
        within: Instead of epsilon, how near the answer must be to the truth; the least epsilon is found.
        confidence: How surely it must be that near.
        plan_only: Only show what to expect and what it would cost. Nothing is spent, and no row is read.
        started_by: Your own name. The question is charged to you.
    """
    require_home()
    description = load_description(_kept(data))

    def wish() -> Wish:
        QueryRefused.raise_for(_zeros(share=share, epsilon=epsilon, within=within, confidence=confidence))
        conditions = [each for place, text in enumerate(where) for each in parse_conditions(text, f"where.{place}")]
        asked = {"statistic": statistic, "of": of, "share": share, "where": conditions, "by": by}
        return Wish(
            query=query_of({name: value for name, value in asked.items() if value}),
            method=None if method == "usual" else method,
            epsilon=exact_number(epsilon),  # None for an empty text
            within=exact_number(within),
            confidence=exact_number(confidence) or CONFIDENCE,
        )

    if plan_only:
        planned = plan_question(description, wish(), analyst=started_by)
        _show_plan(planned)
        return Completed(message=f"Planned: {len(planned['methods'])} methods could answer. Nothing was spent.")
    found = answer(description, wish, analyst=started_by)
    spent = "It was asked before: nothing was spent." if found.repeated else f"Epsilon {found.epsilon} was spent."
    _show_link(page_of(Home.open(), found.id, started_by))
    return Completed(message=f"Answered. {spent} Only you and officers can read the answer.")


def _kept(name: str) -> Path:
    return kept_file(name, "data")


def _zeros(**texts: str) -> list[Fault]:
    """Return a fault for each text that only looks like a number: one divided by zero."""
    return [
        Fault(name, "must be an exact number, such as 1/4", "Correct it.", repr(text))
        for name, text in texts.items()
        if text and exact_number(text) is None
    ]


def _show_link(page: str) -> None:
    """Show where the answer is read; without a gateway there is no such page."""
    reports = os.environ.get("PENSTOCK_REPORTS_URL")
    if FlowRunContext.get() is None or not reports:
        return
    create_link_artifact(
        key="question-answer",
        link=reports.rstrip("/").removesuffix("/reports") + page,
        link_text="The answer",
        description="With its promise and how far it may stray. For whoever asked, and for officers.",
    )


def _show_plan(planned: QuestionPlan) -> None:
    """Show what to expect of each method: public facts alone."""
    if FlowRunContext.get() is None:
        return
    create_markdown_artifact(
        key="question-plan", description="What to expect, before anything is spent", markdown=_as_markdown(planned)
    )


def _as_markdown(planned: QuestionPlan) -> str:
    """Return a table of the methods that could answer, and why the others cannot."""
    methods, wanted = planned["methods"], planned["wanted"]
    lines = [f"## `{planned['query']}`" + ("" if wanted is None else f", {wanted}"), ""]
    if methods:
        lines += ["| method | model | standard error | 95 % within ± | costs | then left | and to you |"]
        lines += [7 * "|---" + "|"]
    else:
        lines += ["No method can answer this as asked."]
    for each in methods:
        amounts = [exact_text(each[name] or "–") for name in ("epsilon", "left", "left_to_analyst")]
        errors = [_figure(each, "standard_error"), _figure(each, "half_width")]
        lines.append(f"| {' | '.join([each['method'], each['model'], *errors, *amounts])} |")
    lines += ["", *(f"- {each['method']}: {sentence}" for each in methods for sentence in each["expect"])]
    lines += [f"- not {name}: {why}" for name, why in planned["cannot"].items()]
    if any(each["is_upper_bound"] for each in methods):
        lines.append("- ≤: the worst case; the size of the noise follows the data and is secret.")
    if any(each["is_typical"] for each in methods):
        lines.append("- ~: if the data are as the sentence of that method supposes.")
    if any(None in (each["left"], each["left_to_analyst"]) for each in methods):
        lines.append(f"- –: {planned['nothing_left']}.")
    return "\n".join(lines)


def _figure(planned: PlannedMethod, name: Literal["standard_error", "half_width"]) -> str:
    value = planned[name]
    bound = "≤ " if planned["is_upper_bound"] else "~ " if planned["is_typical"] else ""
    return "not known" if value is None else bound + figure_text(value)
