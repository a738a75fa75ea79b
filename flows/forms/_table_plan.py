"""What the form of a table shows where only a plan was asked for: what `penstock plan` prints, as an artifact."""

# Annotations are not postponed here: this module is part of a served flow.

from collections.abc import Iterable, Iterator

from prefect.artifacts import create_markdown_artifact
from prefect.context import FlowRunContext

from penstock.flows.preview import Preview

__all__ = ["show_plan", "summary_of"]


def summary_of(planned: Preview) -> str:
    """Return the message of the flow run."""
    codes = ", ".join(each["code"] for each in planned.get("refusals", ()))
    found = f"a run would be refused ({codes})" if codes else "nothing stands against a run"
    return f"Planned: {found}. Nothing was spent."


def show_plan(planned: Preview) -> None:
    """Show the plan on the page of the flow run: public facts, accounts and earlier releases."""
    if FlowRunContext.get() is not None:
        create_markdown_artifact(
            key="release-plan",
            description="What to expect, before anything is spent",
            markdown="\n".join(_lines(planned)),
        )


def _lines(planned: Preview) -> Iterator[str]:
    for refusal in planned.get("refusals", ()):
        told = [f"{each['field']}: {each['rule']}. {each['remedy']}" for each in refusal["faults"]]
        yield from _section(f"A run would be refused ({refusal['code']})", told)
    yield from _section("Made of the columns", planned["expect"] if "outputs" in planned else ())
    for each in planned.get("outputs", ()):
        yield from _section(each["name"], [each["guarantee"]["statement"], *each["expect"], *each["gates"]])
    if "guarantee" in planned:
        yield from _section(
            planned["name"], [planned["guarantee"]["statement"], *planned["expect"], *planned.get("gates", ())]
        )
    yield from _section("Cost", planned["cost"])
    yield from _section("Review", planned["review"])


def _section(title: str, sentences: Iterable[str]) -> list[str]:
    listed = [f"- {_plain(sentence)}" for sentence in sentences]
    return [f"## {_plain(title)}", "", *listed, ""] if listed else []


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is: names of columns and categories may hold anything."""
    return "".join(f"\\{each}" if each in "\\`*_{}[]()<>#|!~" else each for each in text.replace("\n", " "))
