"""`penstock budget`: the accounts of each data set, what each release cost, what each analyst may spend on questions,
and how often runs may look in vain."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Annotated

import typer

from penstock.cli._options import AsJson, KeyFile, Reason
from penstock.cli._screen import Screen
from penstock.mechanisms.models import Budgeted
from penstock.mechanisms.refusal import SpecRefused

__all__ = ["budget"]

budget = typer.Typer(
    help="Privacy budgets: open, show and raise them; allow analysts and looks.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Dataset = Annotated[str, typer.Argument(help="The data set, as specs name it in budget.dataset.")]
ModelOption = Annotated[Budgeted, typer.Option("--model", help="The model whose epsilon is counted.")]
Epsilon = Annotated[str, typer.Option("--epsilon", help='The limit, exact: "2" or "1/2".')]
Delta = Annotated[
    str | None,
    typer.Option("--delta", help='How much delta releases may spend, exact: "1/1000000". None without it.'),
]
NewDelta = Annotated[
    str | None, typer.Option("--delta", help='The new limit of delta, exact: "1/1000000". As it was without it.')
]
OfficerOption = Annotated[str, typer.Option("--officer", help="Your name, as your key is trusted.")]


@budget.command("open")
def open_(
    dataset: Dataset,
    model: ModelOption,
    epsilon: Epsilon,
    adjacency: Annotated[str, typer.Option(help="What one unit may change: replace, add_remove, ...")],
    unit: Annotated[str, typer.Option(help="Whose privacy is counted: row or individual.")],
    officer: OfficerOption,
    key: KeyFile,
    reason: Reason,
    partition: Annotated[
        str | None, typer.Option(help="A column whose categories split the data set into parts.")
    ] = None,
    delta: Delta = None,
    as_json: AsJson = False,
) -> None:
    """Open an account that releases of a data set can spend. Signed, with a reason."""
    from penstock.records import open_records
    from penstock.records.home import login
    from penstock.records.ledger.accounts import Account
    from penstock.records.ledger.limits import Officer, open_account
    from penstock.records.signing.signing import existing_private_key

    account = Account(
        dataset=dataset,
        model=model,
        limit=_exact(epsilon),
        adjacency=adjacency,
        unit=unit,
        partition=partition,
        delta=Fraction(0) if delta is None else _exact(delta, "--delta"),
    )
    signer = Officer(officer, existing_private_key(key), reason)
    open_account(open_records().log, account, signer, actor=login(), now=datetime.now(UTC))
    beyond = f", and delta {account.delta}," if account.delta else ""
    opened = f"Opened: {dataset} may spend {account.limit}{beyond} under {model}, {adjacency}."
    Screen(as_json).show(opened, account.as_dict())


@budget.command("raise")
def raise_(
    dataset: Dataset,
    model: ModelOption,
    officer: OfficerOption,
    key: KeyFile,
    reason: Reason,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help='The new limit, exact: "2" or "1/2". As it was without it.')
    ] = None,
    delta: NewDelta = None,
    as_json: AsJson = False,
) -> None:
    """Raise the limit of an account, or its delta, or both. Signed, with a reason."""
    from penstock.records import existing_records
    from penstock.records.home import login
    from penstock.records.ledger.limits import Officer, raise_limit
    from penstock.records.signing.signing import existing_private_key

    if epsilon is None and delta is None:
        raise SpecRefused.at("--epsilon", rule="must be given, or --delta, or both", remedy="Say what is raised.")
    signer = Officer(officer, existing_private_key(key), reason)
    account = raise_limit(
        existing_records().log,
        dataset,
        model,
        None if epsilon is None else _exact(epsilon),
        signer,
        delta=None if delta is None else _exact(delta, "--delta"),
        actor=login(),
        now=datetime.now(UTC),
    )
    beyond = f", and delta {account.delta}," if account.delta else ""
    Screen(as_json).show(f"Raised: {dataset} may spend {account.limit}{beyond} under {model}.", account.as_dict())


@budget.command("looks")
def looks(
    dataset: Dataset,
    most: Annotated[int, typer.Option("--most", help="How many runs may look at the data and publish nothing.")],
    officer: OfficerOption,
    key: KeyFile,
    reason: Reason,
    as_json: AsJson = False,
) -> None:
    """Set how many runs may look and publish nothing. Earlier ones count. Signed, with a reason."""
    from penstock.records import open_records
    from penstock.records.home import login
    from penstock.records.ledger.limits import Officer
    from penstock.records.ledger.looks import allow_looks, looks_of
    from penstock.records.signing.signing import existing_private_key

    log = open_records().log
    allow_looks(
        log, dataset, most, Officer(officer, existing_private_key(key), reason), actor=login(), now=datetime.now(UTC)
    )
    found = looks_of(log, dataset)
    Screen(as_json).show(f"Looks at {dataset}: {found.in_words}.", {"dataset": dataset, **asdict(found)})


@budget.command("allow")
def allow(
    dataset: Dataset,
    analyst: Annotated[str, typer.Option("--analyst", help="Who may ask questions.")],
    model: ModelOption,
    epsilon: Annotated[str, typer.Option("--epsilon", help='What the analyst may spend, exact: "2" or "1/2".')],
    officer: OfficerOption,
    key: KeyFile,
    reason: Reason,
    as_json: AsJson = False,
) -> None:
    """Allow an analyst to ask questions, up to a sum of epsilon. Only ever raised. Signed, with a reason."""
    from penstock.records import existing_records
    from penstock.records.home import login
    from penstock.records.ledger.analysts import allow_analyst
    from penstock.records.ledger.limits import Officer
    from penstock.records.signing.signing import existing_private_key

    allowed, signer = _exact(epsilon), Officer(officer, existing_private_key(key), reason)
    log = existing_records().log
    allow_analyst(log, dataset, model, analyst, allowed, signer, actor=login(), now=datetime.now(UTC))
    told = {"dataset": dataset, "model": model, "analyst": analyst, "allowed": str(allowed)}
    Screen(as_json).show(f"Allowed: {analyst} may spend {allowed} of {dataset} under {model} on questions.", told)


@budget.command("show")
def show(
    dataset: Annotated[str | None, typer.Argument(help="Only this data set.")] = None, as_json: AsJson = False
) -> None:
    """Show what each data set may spend and has spent. Also each release, each analyst, and which looks count."""
    from penstock.records import existing_records
    from penstock.records.ledger.looks import looks_of

    records = existing_records()
    books = records.ledger.books() if dataset is None else {dataset: records.ledger.book(dataset)}
    shown = []
    for name, book in books.items():
        looks = {"looks": asdict(looks_of(records.log, name))} if name else {}
        shown.append({**book.as_dict(name), **looks})
    Screen(as_json).show_budgets(shown)


def _exact(text: str, option: str = "--epsilon") -> Fraction:
    from penstock.mechanisms.numbers.exact import exact_number

    limit = exact_number(text)
    if limit is None or limit <= 0:
        such_as = '"1/1000000"' if option == "--delta" else '"1/2" or "0.5"'
        raise SpecRefused.at(
            option, rule=f"must be an exact number above 0, such as {such_as}", got=text, remedy="Correct it."
        )
    return limit
