"""`penstock ask`: a question of confidential data, its plan, and its answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli._answers import show_answer, show_plan
from penstock.cli._options import AsJson, new_file
from penstock.cli._screen import Screen
from penstock.mechanisms.refusal import SpecRefused

__all__ = ["ask"]


def ask(
    data: Annotated[Path, typer.Argument(help="The data description, YAML or JSON.")],
    query: Annotated[
        str,
        typer.Option(
            "--query",
            help="What is asked: 'mean of income where sex is F and age from 18 below 65 by region', or a .json or "
            ".yaml file.",
        ),
    ],
    epsilon: Annotated[str | None, typer.Option("--epsilon", help='What it may cost, exact: "1/4".')] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="laplace, staircase, exponential, ...; --plan lists them.")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option("--scale", help="Instead of epsilon: the scale of Laplace noise, in the answer's unit."),
    ] = None,
    within: Annotated[
        str | None, typer.Option("--within", help="Instead of epsilon: how near the answer must be to the truth.")
    ] = None,
    confidence: Annotated[
        str | None, typer.Option("--confidence", help="With --within: how surely; 0.95 if not given.")
    ] = None,
    prior: Annotated[Path | None, typer.Option("--prior", help="For refinement: a file with a public prior.")] = None,
    source: Annotated[
        str | None, typer.Option("--source", help="Read this Parquet file or folder instead of source.path.")
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show what to expect; spends nothing, reads no row.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Only with --plan: write how far answers stray to this SVG file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask a question of confidential data, within a budget. Asked again, it costs nothing."""
    from penstock import _questions as questions

    screen = Screen(as_json)
    described = questions.load_description(data, source=source)
    wanted = {"epsilon": epsilon, "scale": scale, "within": within, "confidence": confidence}
    if picture is not None and not plan:
        rule = "needs --plan: it shows what to expect before anything is asked"
        raise SpecRefused.at("--picture", rule=rule, got=str(picture), remedy="Add --plan, or leave --picture out.")
    if not plan:
        answer = questions.ask(described, query, method=method, prior=prior, **wanted)
        show_answer(screen, answer.as_dict())
        return
    planned = questions.plan_question(described, query, method=method, prior=prior, **wanted)
    if picture is not None:
        with new_file(picture, "--picture") as file:
            file.write(planned["picture"])
    show_plan(screen, planned)
