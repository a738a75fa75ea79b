"""Pages of other sites in the browser of somebody who has signed in: none of them starts, reads or hears anything.

On 0.3.0 such a page ran commands: a WebSocket has no origin check, a Blob without a type needs no question beforehand
because the server called it JSON, and a foreign host name was answered.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.support.browser_fixtures import ARGUMENTS, CHROMIUM
from tests.support.browser_office import Office, Window
from tests.support.other_user import REPLAY, as_nobody, require_other_user

pytestmark = pytest.mark.slow

# The gateway's own tests refuse origins, hosts and sockets without a browser.

# Everything that a page can try at an address that is not its own; what it can see of the answers.
TRY = """async ([address, deployment, flowRun]) => {
    const start = `${address}/api/deployments/${deployment}/create_flow_run`;
    const order = JSON.stringify({parameters: {spec: "stolen.yaml"}, job_variables: {command: "true"}});
    const seen = {};
    const tried = async (name, url, options) => {
        try { const answer = await fetch(url, {credentials: "include", ...options});
              seen[name] = [answer.type, answer.status, (await answer.text()).length]; }
        catch (error) { seen[name] = ["failed"]; }
    };
    await tried("blob", start, {method: "POST", mode: "no-cors", body: new Blob([order])});
    await tried("text", start, {method: "POST", mode: "no-cors", body: order});
    await tried("json", start, {method: "POST", body: order, headers: {"Content-Type": "application/json"}});
    await tried("read", `${address}/api/flow_runs/${flowRun}`, {});
    await tried("opaque", `${address}/api/admin/version`, {mode: "no-cors"});
    await tried("page", `${address}/sign-in`, {});
    for (const path of ["/api/events/out", "/api/events/in", "/api/logs/out"]) {
        seen[path] = await new Promise(resolve => {
            const socket = new WebSocket(address.replace("http", "ws") + path, "prefect");
            socket.onopen = () => resolve("open");
            socket.onclose = () => resolve("closed");
        });
    }
    return seen;
}"""
FORM = """([address, deployment]) => {
    const form = document.createElement("form");
    form.method = "POST"; form.enctype = "text/plain";
    form.action = `${address}/api/deployments/${deployment}/create_flow_run`;
    const field = document.createElement("input");
    field.name = '{"parameters":{"spec":"stolen.yaml"},"x":"'; field.value = '"}';
    form.append(field); document.body.append(form); form.submit();
}"""


class Site:
    """A web site on another port of this machine; it keeps the cookies that browsers send it."""

    def __init__(self) -> None:
        cookies: list[str] = []

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                cookies.append(self.headers.get("Cookie", ""))
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!DOCTYPE html><title>Another site</title>")

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.cookies = cookies
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.port = self._server.server_port

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


def facts(office: Office) -> tuple[str, str, str]:
    deployment = office.serving.api("/deployments/name/release-spec/release")["id"]
    runs = office.serving.api("/flow_runs/filter", {"limit": 1})
    return office.serving.address, deployment, runs[0]["id"] if runs else deployment


def stolen_runs(office: Office) -> list[Any]:
    runs = office.serving.api("/flow_runs/filter", {"flows": {"name": {"any_": ["release-spec"]}}})
    return [run for run in runs if run["parameters"].get("spec") == "stolen.yaml"]


def attack(office: Office, page: Page, where: str) -> dict[str, Any]:
    page.goto(where)
    return dict(page.evaluate(TRY, facts(office)))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_of_another_origin_starts_reads_and_hears_nothing(
    office: Office, enter: Callable[[str], Window], site: Site, host: str
) -> None:
    window = enter("olga")
    seen = attack(office, window.page.context.new_page(), f"http://{host}:{site.port}/")
    for name in ("json", "read", "page"):
        assert seen[name] == ["failed"]
    for name in ("blob", "text", "opaque"):
        assert seen[name] in (["failed"], ["opaque", 0, 0])  # it is not even told that it was refused
    assert {seen[path] for path in ("/api/events/out", "/api/events/in", "/api/logs/out")} == {"closed"}
    assert stolen_runs(office) == []


def test_a_form_of_another_origin_is_refused(office: Office, enter: Callable[[str], Window], site: Site) -> None:
    window = enter("olga")
    page = window.page.context.new_page()
    page.goto(f"http://127.0.0.1:{site.port}/")
    with page.expect_response(lambda answer: "create_flow_run" in answer.url) as answer:
        page.evaluate(FORM, facts(office)[:2])
    assert answer.value.status == 403
    assert stolen_runs(office) == []


def test_a_name_that_was_bound_to_this_machine_afterwards_is_not_answered(office: Office, browser: Browser) -> None:
    """Rebinding: to the browser the attacker's page and our service are one origin, under the attacker's name."""
    rules = "--host-resolver-rules=MAP rebind.example 127.0.0.1"
    older = "--disable-features=LocalNetworkAccessChecks"  # newer browsers stop it themselves, so this is an older one
    rebound = browser.browser_type.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, rules, older])
    page = rebound.new_page()
    answer = page.goto(f"http://rebind.example:{office.serving.port}/")
    assert answer is not None
    assert answer.status == 421
    # The attacker's own page, as it was loaded before the name was bound to this machine.
    page.route("**/attack", lambda route: route.fulfill(content_type="text/html", body="<title>Another site</title>"))
    page.goto(f"http://rebind.example:{office.serving.port}/attack")
    path = f"/api/deployments/{facts(office)[1]}/create_flow_run"
    order = "async path => (await fetch(path, {method: 'POST', body: new Blob(['{}'])})).status"
    assert page.evaluate(order, path) == 421
    rebound.close()


def test_a_cookie_that_the_browser_shows_to_another_port_opens_nothing_for_its_owner(
    office: Office, enter: Callable[[str], Window], site: Site
) -> None:
    require_other_user()
    window = enter("olga")
    window.page.context.new_page().goto(f"http://127.0.0.1:{site.port}/")
    cookie = site.cookies[-1]
    assert "penstock=" in cookie  # the browser does show it
    assert as_nobody(REPLAY, f"{office.serving.address}/api/admin/version", cookie) == "401"


def test_no_other_page_frames_ours(office: Office, enter: Callable[[str], Window], site: Site) -> None:
    window = enter("rolf")
    answer = window.page.goto(f"{office.serving.address}/dashboard")
    assert answer is not None
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert json.loads(json.dumps(answer.headers)).get("access-control-allow-origin") is None
