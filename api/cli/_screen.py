"""What the command line shows: text for people on a terminal, or one JSON document."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.tasks.run.steps import STEPS

if TYPE_CHECKING:  # rich is imported where something is printed, so that no command waits for it before
    from rich.console import Console
    from rich.table import Table

__all__ = ["Screen", "console", "shown", "table_of"]

WAITING_EXIT_CODE = 6
# Control characters except tab and end of line, those that change the direction of text, and halves of characters.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ACCOUNT_FIELDS = ("model", "adjacency", "unit", "partition", "limit", "spent", "left")
_RELEASE_FIELDS = ("run", "output", "occurred", "model", "epsilon", "delta", "part", "state")
_SELDOM = ("output", "delta")  # shown where a release has one
_ANALYST_FIELDS = ("analyst", "model", "allowed", "spent", "left")

_LOOKS_ARE = "runs that published nothing new or declared data anew; outputs left out"

_OF_QUESTIONS = ("ANALYST_ALLOWED", "SITTING_OPENED", "ANSWERED", "ASKED_AGAIN", "QUESTION_REFUSED")


class Screen:
    """The output of a command as text or JSON, decided once per command."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json

    @property
    def as_json(self) -> bool:
        """Return whether one document is shown, and no text."""
        return self._as_json

    @cached_property
    def _out(self) -> Console:
        return console()

    @cached_property
    def _err(self) -> Console:
        return console(stderr=True)

    def show(self, text: str, document: Mapping[str, Any]) -> None:
        """Show one sentence, or one document."""
        if self._as_json:
            # Only what a terminal would obey is escaped, in JSON's way, so that the document means the same.
            text = json.dumps(document, indent=2, ensure_ascii=False)
            sys.stdout.write(_OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
            sys.stdout.flush()
        else:
            self._out.print(shown(text))

    @contextmanager
    def progress(self) -> Iterator[None]:
        """Show a line on the terminal that names the current step; nothing elsewhere."""
        if self._as_json or not self._err.is_terminal:
            yield
            return
        with self._err.status("starting") as status:
            handler = _StepLine(status.update)
            logger = logging.getLogger("penstock")
            before = logger.level, logger.propagate
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)
            logger.propagate = False  # Prefect listens at the root and would print every step again
            try:
                yield
            finally:
                logger.removeHandler(handler)
                logger.setLevel(before[0])
                logger.propagate = before[1]

    def show_receipt(self, receipt: Mapping[str, Any]) -> None:
        if self._as_json:
            self.show("", receipt)
            return
        records, rows_are = receipt["records"], receipt["rows_are"]
        rows = f"{records:,} {rows_are.removesuffix('s') if records == 1 else rows_are}"
        word = "Published before" if receipt["earlier"] else "Published again" if receipt["repeats"] else "Published"
        self._out.print(f"[bold green]{word}[/bold green] {shown(receipt['name'])}, {rows}")
        if receipt["earlier"]:
            self._out.print(f"  By run {shown(receipt['run'])}, from the same spec and source; nothing was spent now.")
            self._out.print(
                "  For another release: penstock run SPEC --again; without epsilon, acknowledge this one instead."
            )
        if receipt["repeats"] is not None:
            drawn_by = f"run {shown(receipt['repeats'])}"
            self._out.print(f"  The same figures again, as {drawn_by} drew them: no new noise, nothing was spent.")
            self._out.print("  For new figures of data that have changed: another source.edition.")
        for label, value in (
            *_left_out(receipt),
            ("promise", receipt["promise"]),
            ("bundle", receipt["path"]),
            ("public report", receipt["public_report"]),
            ("confidential report", receipt["confidential_report"]),
        ):
            self._out.print(f"  {label:20}{shown(value)}")

    def show_result(self, result: Any) -> int:
        """Show a receipt, or what the run waits for; return the exit code."""
        document = result.as_dict()
        if "content" not in document:
            self.show_receipt(document)
            return 0
        if self._as_json:
            self.show("", {"waiting": document})
        else:
            self._out.print(f"[bold yellow]Waiting for approval[/bold yellow] {shown(document['name'])}")
            for label, value in (
                ("run", document["run"]),
                ("content", document["content"]),
                ("approvals missing", f"{document['missing']} of {document['required']}"),
                ("may decide", ", ".join(document["allowed"])),
                ("until", document["until"]),
                *_left_out(document),
                (
                    "looks",
                    f"{document['looks']}: {_LOOKS_ARE}",
                ),
                ("confidential report", document["confidential_report"]),
                ("decide", f"penstock approve {document['run']} --reviewer NAME --key FILE"),
            ):
                self._out.print(f"  {label:20}{shown(value)}")
        return WAITING_EXIT_CODE

    def show_served(self, ready: Mapping[str, Any]) -> None:
        self._out.print(f"[bold green]Ready[/bold green] {shown(ready['address'])}")
        for label, value in (
            ("deployments", ", ".join(ready["deployments"])),
            ("folder of specs", ready["specs"]),
            ("reports", ready["reports"] and f"{ready['reports']}/RUN"),
            ("sign in as", ready["first_password"] and f"officer, with the password in {ready['first_password']}"),
            ("stop", "Ctrl-C"),
        ):
            if value is not None:
                self._out.print(f"  {label:20}{shown(value)}")

    def show_demo(self, receipt: Mapping[str, Any], spec: Path, events: int) -> None:
        if self._as_json:
            self.show("", {**receipt, "spec": str(spec), "log_events": events})
            return
        self.show_receipt(receipt)
        self._out.print(f"\nThe bundle verifies, and the audit log has {events} events, every one in its place.")
        self._out.print("Look further:")
        home = Path(receipt["confidential_report"]).parents[2]
        for line in (
            f"cat {spec}",
            f"penstock plan {spec}",
            f"PENSTOCK_HOME={home} penstock audit show",
            f"penstock verify {receipt['path']} --key {home / 'keys' / 'signing.pub'}",
            f"PENSTOCK_HOME={home} PENSTOCK_SPECS={spec.parent} penstock serve",
        ):
            self._out.print(f"  {shown(line)}")

    def show_findings(self, bundle: str, findings: Sequence[Mapping[str, Any]]) -> None:
        if self._as_json:
            self.show("", {"bundle": bundle, "findings": list(findings)})
            return
        for finding in findings:
            mark = "[green]checked[/green]    " if finding["checked"] else "[yellow]not checked[/yellow]"
            self._out.print(f"{mark} {shown(finding['text'])}")

    def show_events(self, events: Sequence[Mapping[str, Any]]) -> None:
        if self._as_json:
            self.show("", {"events": list(events)})
            return
        of_questions = any(event["action"] in _OF_QUESTIONS for event in events)
        table = table_of("", "when", "run", "what", "who", *(("about",) if of_questions else ()))
        asked = {
            event["seq"]: event["facts"]["question"].get("query", "")
            for event in events
            if event["action"] == "ANSWERED"
        }
        for event in events:
            when = event["occurred"][:19].replace("T", " ")
            about = (shown(_about(event, asked)),) if of_questions else ()
            table.add_row(str(event["seq"]), when, shown(event["run"]), event["action"], shown(event["actor"]), *about)
        self._out.print(table)

    def show_audit(self, found: Mapping[str, Any]) -> None:
        if self._as_json:
            self.show("", found)
            return
        self._out.print(f"{found['events']} events, every one in its place and unaltered.")
        for name, text in (
            ("checkpoints", ("signed checkpoints hold", "signed checkpoint holds")),
            (
                "ledger_events",
                (
                    "events of the ledger, none missing, no limit exceeded",
                    "event of the ledger, none missing, no limit exceeded",
                ),
            ),
            (
                "decisions",
                ("decisions of reviewers, their signatures hold", "decision of a reviewer, its signature holds"),
            ),
            ("manifests", ("published manifests agree with the log", "published manifest agrees with the log")),
            ("files", ("published files are as their manifests say", "published file is as its manifest says")),
            ("answers", ("published answers are as the log says", "published answer is as the log says")),
        ):
            if name in found:
                self._out.print(f"{found[name]} {text[found[name] == 1]}.")
        for place in found.get("not_reached", []):
            self._out.print(f"[yellow]not reached[/yellow] {shown(place)}")
        for number in found.get("backwards", []):
            self._out.print(f"[yellow]clock[/yellow] event {number} bears an earlier time than one before it")

    def show_budgets(self, books: Sequence[Mapping[str, Any]]) -> None:
        if self._as_json:
            self.show("", {"datasets": list(books)})
            return
        for book in books:
            self._out.print(f"[bold]{shown(book['dataset'] or 'no data set named')}[/bold]")
            accounts = table_of(*_ACCOUNT_FIELDS)
            for account in book["accounts"]:
                accounts.add_row(*(shown(account[name] or "") for name in _ACCOUNT_FIELDS))
            known = {field for cost in book["releases"] for field in cost}
            of_releases = [field for field in _RELEASE_FIELDS if field in known or field not in _SELDOM]
            releases = table_of(*of_releases)
            for cost in book["releases"]:
                when = cost["occurred"][:19].replace("T", " ")
                row = {**cost, "occurred": when, "epsilon": cost["epsilon"] or "none", "part": cost["part"] or ""}
                if cost["run"].startswith("questions-"):
                    row["state"] = "questions"  # all of one analyst, as one cost
                releases.add_row(*(shown(row.get(name, "")) for name in of_releases))
            if book["accounts"]:
                self._out.print(accounts)
            for account in (each for each in book["accounts"] if "delta" in each):
                left = f"{account['delta']}, spent {account['delta_spent']}, left {account['delta_left']}"
                self._out.print(f"delta of {account['model']}: limit {left}")
            if whose := sorted({cost["whose"] for cost in book["releases"]} - {None}):
                self._out.print(f"individuals: by {shown(', '.join(whose))}")
            if book["releases"]:
                self._show_unfolded(releases)
            if "analysts" in book:
                analysts = table_of(*_ANALYST_FIELDS)
                for analyst in book["analysts"]:
                    analysts.add_row(*(shown(analyst[name]) for name in _ANALYST_FIELDS))
                self._out.print(analysts)
            if "looks" in book:
                counted = book["looks"]
                number = len(counted["runs"]) + counted["left_out"]
                self._out.print(f"looks: {number} of {counted['allowed']} allowed: {_LOOKS_ARE}")
            self._out.print()

    def _show_unfolded(self, table: Table) -> None:
        """Show a table as wide as it is: from a narrow terminal folded ids could not be copied."""
        out = console()
        out.width = out.measure(table, options=out.options.update(max_width=10_000)).maximum
        out.print(table)

    def show_people(self, people: Sequence[Mapping[str, str]]) -> None:
        if self._as_json:
            self.show("", {"people": list(people)})
            return
        table = table_of("name", "key", "since")
        for person in people:
            table.add_row(shown(person["name"]), person["key_id"], person["since"][:19].replace("T", " "))
        self._out.print(table)

    def show_users(self, users: Sequence[Mapping[str, Any]]) -> None:
        if self._as_json:
            self.show("", {"users": list(users)})
            return
        table = table_of("name", "kind", "roles", "since")
        for user in users:
            kind, since = "program" if user["program"] else "person", user["since"][:19].replace("T", " ")
            table.add_row(shown(user["name"]), kind, ", ".join(user["roles"]), since)
        self._out.print(table)

    def show_refusal(self, refusal: Mapping[str, Any]) -> None:
        if self._as_json:
            self.show("", refusal)
            return
        self._err.print(f"[bold red]Refused[/bold red] ({refusal['refused']})")
        for fault in refusal["faults"]:
            got = f", got {fault['got']}" if fault["got"] else ""
            self._err.print(f"  [bold]{shown(fault['field'])}[/bold]: {shown(fault['rule'] + got)}.")
            self._err.print(f"    {shown(fault['remedy'])}")
        self._err.print(f"  See docs/refusals.md#{refusal['refused']}")


def _about(event: Mapping[str, Any], asked: Mapping[int, str]) -> str:
    """Return the data set of an event of questions and what was asked; the text of others is empty.

    asked: the texts of questions, by the number of the event that has them.
    """
    if event["action"] not in _OF_QUESTIONS:
        return ""
    facts = event["facts"]
    query = asked.get(facts["of"] if event["action"] == "ASKED_AGAIN" else event["seq"])
    what = query or facts.get("code") or facts.get("analyst") or ""
    return ": ".join(filter(None, (facts["dataset"], what)))


def shown(text: str) -> str:
    """Return text that a terminal shows and does not obey; names from files may hold what moves its cursor."""
    from rich.markup import escape

    return escape(_OBEYED.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text))


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints what it is given, without colouring numbers and folding lines."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def table_of(*titles: str, right: Sequence[str] = ()) -> Table:
    """Return a table without lines, with a column for each title."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold", justify="right" if title in right else "left")
    return table


class _StepLine(logging.Handler):
    def __init__(self, update: Any) -> None:
        super().__init__()
        self._update = update

    def emit(self, record: logging.LogRecord) -> None:
        step = record.getMessage()
        place = f"{STEPS.index(step) + 1} of {len(STEPS)}: " if step in STEPS else ""
        self._update(f"{place}{step}")


def _left_out(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the line on outputs that were refused while the others go on; nothing where there are none."""
    told = [f"{each['output']} ({', '.join(each['because'])})" for each in document.get("left_out", ())]
    if told:
        yield "left out", "; ".join(told)
