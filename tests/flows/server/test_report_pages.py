"""Reports in the browser: what is answered, to whom; Prefect's own pages are left alone."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest

from flows.server.report_pages import beside_reports, report_password_file
from records.home import Home
from records.keyfile import KeyExposed

RUN = "20260101T000000Z-0123abcd"


class Pages:
    """The application of a home with one run, asked without a network."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.folder = home.runs / RUN
        (self.folder / "bundle").mkdir(parents=True)
        (self.folder / "report.html").write_text("confidential")
        (self.folder / "bundle" / "report.html").write_text("public")
        self.left_to_prefect: list[str] = []
        self._app = beside_reports(self._prefect, home)

    async def _prefect(self, scope: Any, receive: Any, send: Any) -> None:
        self.left_to_prefect.append(scope.get("path", scope["type"]))

    def get(self, path: str, credentials: str | None = None, scheme: str = "Basic") -> tuple[int, str]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {}

        given = [] if credentials is None else [(b"authorization", f"{scheme} {credentials}".encode())]
        scope = {"type": "http", "method": "GET", "path": path, "headers": given}
        asyncio.run(self._app(scope, receive, send))
        return (sent[0]["status"], sent[1]["body"].decode()) if sent else (0, "")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pages:
    monkeypatch.delenv("PREFECT_SERVER_API_AUTH_STRING", raising=False)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    return Pages(Home.open())


def password(home: Home) -> str:
    path = report_password_file(home)
    assert path is not None
    return encoded(f"anybody:{path.read_text().strip()}")


def test_the_password_is_made_once_and_private(pages: Pages) -> None:
    before = password(pages.home)
    assert before == password(pages.home)
    path = pages.home.keys / "reports.password"
    assert len(path.read_text().strip()) >= 32
    path.chmod(0o644)
    with pytest.raises(KeyExposed):
        pages.get(f"/reports/{RUN}", before)


def test_the_password_of_the_server_counts_where_it_has_one(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    own = password(pages.home)
    monkeypatch.setenv("PREFECT_SERVER_API_AUTH_STRING", "anna:secret")
    assert report_password_file(pages.home) is None
    assert pages.get(f"/reports/{RUN}", encoded("anna:secret")) == (200, "confidential")
    for wrong in (own, encoded("otto:secret"), encoded("anna:secret "), "", "%%%"):
        assert pages.get(f"/reports/{RUN}", wrong)[0] == 401
    assert pages.get(f"/reports/{RUN}", encoded("anna:secret"), scheme="Bearer")[0] == 401


def test_a_staged_bundle_has_its_public_report(pages: Pages) -> None:
    assert pages.get(f"/reports/{RUN}/public", password(pages.home)) == (200, "public")


def test_without_records_nothing_is_published(pages: Pages) -> None:
    (pages.folder / "bundle" / "report.html").unlink()
    assert pages.get(f"/reports/{RUN}/public", password(pages.home))[0] == 404


def test_links_are_not_followed_and_folders_are_no_reports(pages: Pages, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("secret")
    report = pages.folder / "report.html"
    report.unlink()
    report.symlink_to(tmp_path / "elsewhere")
    assert pages.get(f"/reports/{RUN}", password(pages.home))[0] == 404
    report.unlink()
    report.mkdir()
    assert pages.get(f"/reports/{RUN}", password(pages.home))[0] == 404


@pytest.mark.parametrize("path", ["/", "/api/health", "/reportsx", "/dashboard", "/api/reports/x"])
def test_everything_else_is_prefects(pages: Pages, path: str) -> None:
    assert pages.get(path) == (0, "")
    assert pages.left_to_prefect == [path]
