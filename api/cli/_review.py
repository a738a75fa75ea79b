"""`penstock approve`, `refuse`, `withdraw`, `sign` and `keys`: people and their decisions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from penstock.cli._options import AsJson, KeyFile, Reason
from penstock.cli._screen import Screen

__all__ = ["approve", "keys", "refuse", "sign", "withdraw"]

keys = typer.Typer(
    help="Keys of people who decide: make one, trust one, withdraw one.", no_args_is_help=True, rich_markup_mode=None
)

Run = Annotated[str, typer.Argument(help="The run that waits.")]
Reviewer = Annotated[str, typer.Option("--reviewer", help="Your name, as your key is trusted.")]
OptionalReason = Annotated[str, typer.Option("--reason", help="A remark that is signed with the decision.")]


def approve(run: Run, reviewer: Reviewer, key: KeyFile, reason: OptionalReason = "", as_json: AsJson = False) -> None:
    """Approve exactly what a run has staged. With the last approval needed, the run publishes."""
    _decide(run, reviewer, "approve", reason, key, as_json)


def refuse(run: Run, reviewer: Reviewer, key: KeyFile, reason: Reason, as_json: AsJson = False) -> None:
    """Refuse what a run has staged; the run ends."""
    _decide(run, reviewer, "refuse", reason, key, as_json)


def withdraw(run: Run, reason: Reason, as_json: AsJson = False) -> None:
    """Withdraw a waiting run that you started; the run ends. What was spent stays spent."""
    from penstock.flows.prefect_setup import be_quiet
    from penstock.records.home import Home

    be_quiet(Home.located().root)
    from penstock.flows.review import withdraw as end

    end(run, reason=reason)
    Screen(as_json).show(f"On record: run {run} is withdrawn.", {"run": run, "withdrawn": True})


def sign(
    digest: Annotated[str, typer.Argument(help="The content digest of the waiting run.")],
    key: KeyFile,
    refuse: Annotated[bool, typer.Option("--refuse", help="Sign a refusal instead of an approval.")] = False,
    reason: OptionalReason = "",
    as_json: AsJson = False,
) -> None:
    """Sign a decision, for the form of a suspended run. Needs no home and no network."""
    from penstock.records.approval.decision import APPROVE, REFUSE, sign_decision
    from penstock.records.signing.signing import existing_private_key

    decision = REFUSE if refuse else APPROVE
    signature = sign_decision(existing_private_key(key), content=digest, decision=decision, reason=reason)
    Screen(as_json).show(signature, {"decision": decision, "reason": reason, "signature": signature})


@keys.command("new")
def new(
    path: Annotated[Path, typer.Argument(help="Where the private key goes; the public key goes beside it as .pub.")],
    as_json: AsJson = False,
) -> None:
    """Make a key pair of your own. The private key never leaves you."""
    from penstock.records.signing.signing import key_id, new_key_pair

    identity = key_id(new_key_pair(path))
    text = f"Key {identity}: keep {path} to yourself; hand {path}.pub to whoever runs `penstock keys trust`."
    Screen(as_json).show(text, {"key_id": identity, "private": str(path), "public": f"{path}.pub"})


@keys.command("trust")
def trust_(
    name: Annotated[str, typer.Argument(help="The person, as specs name them in approve.allowed: their login.")],
    path: Annotated[Path, typer.Argument(help="Their public key.")],
    reason: Reason,
    as_json: AsJson = False,
) -> None:
    """Trust a key: what it signs are decisions of this person."""
    from penstock.records import open_records
    from penstock.records.home import login
    from penstock.records.people.trusted_keys import trust
    from penstock.records.signing.signing import public_key

    person = trust(open_records().log, name, public_key(path), actor=login(), reason=reason, now=datetime.now(UTC))
    Screen(as_json).show(f"{name} decides with key {person.key_id}.", {"name": name, "key_id": person.key_id})


@keys.command("withdraw")
def withdraw_(
    name: Annotated[str, typer.Argument(help="Whose key is not to be used any more.")],
    reason: Reason,
    as_json: AsJson = False,
) -> None:
    """Trust a key no longer. Decisions on record still count."""
    from penstock.records import existing_records
    from penstock.records.home import login
    from penstock.records.people.trusted_keys import withdraw

    withdraw(existing_records().log, name, actor=login(), reason=reason, now=datetime.now(UTC))
    Screen(as_json).show(f"The key of {name} is withdrawn.", {"name": name})


@keys.command("list")
def list_(as_json: AsJson = False) -> None:
    """List who has a trusted key."""
    from penstock.records import existing_records
    from penstock.records.people.trusted_keys import people

    Screen(as_json).show_people(
        [
            {"name": person.name, "key_id": person.key_id, "since": person.since}
            for person in people(existing_records().log).values()
        ]
    )


def _decide(
    run: str, reviewer: str, decision: Literal["approve", "refuse"], reason: str, key: Path, as_json: bool
) -> None:
    from penstock.flows.prefect_setup import be_quiet
    from penstock.records.home import Home

    be_quiet(Home.located().root)
    from penstock.cli._termination import end_in_time
    from penstock.flows.review import review

    end_in_time()

    screen = Screen(as_json)
    with screen.progress():
        result = review(run, reviewer=reviewer, decision=decision, reason=reason, key=key)
    if result is not None:
        raise typer.Exit(screen.show_result(result))
    screen.show(f"On record: {reviewer} decided to {decision}.", {"run": run, "decision": decision})
