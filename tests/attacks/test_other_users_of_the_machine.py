"""Another user of the machine at the doors of `penstock serve`: no command, port, session or guess gets through.

On 0.3.0 whoever reached the API of `penstock serve` ran any command as the service account.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest

from penstock.records import open_records
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.records.people.users import change_password
from tests.support.living_processes import LONGEST_WAIT, processes
from tests.support.other_user import REPLAY, as_nobody, require_other_user
from tests.support.serving import Serving, ask, authorization
from tests.support.workplace import Workplace

pytestmark = pytest.mark.slow  # the gateway's rules one by one: tests/api/server/gateway/

PASSWORD = "words that only I know"
RUN = "00000000-0000-4000-8000-000000000000"

# How many of so many connections are still open once each was answered or ended.
HOLD = """
import socket, sys, time
held = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) for _ in range(int(sys.argv[2]))]
end = time.monotonic() + 60
def is_open(each):
    each.settimeout(max(0.001, end - time.monotonic()))
    try: return each.recv(1) != b""
    except ConnectionResetError: return False
    except TimeoutError: return True
print(sum(map(is_open, held)))
"""
# What the other user tries: arguments are addresses.
TRY_EVERYTHING = """
import json, ssl, sys, urllib.error, urllib.request
lax = ssl.create_default_context(); lax.check_hostname = False; lax.verify_mode = ssl.CERT_NONE
found = {}
for address in sys.argv[1:]:
    for method, path, body in [
        ("GET", "/api/admin/version", None), ("GET", "/api/deployments/name/release-spec/release", None),
        ("POST", "/api/flow_runs/filter", {}), ("POST", "/api/block_documents/filter", {"include_secrets": True}),
        ("POST", "/api/deployments/RUN/create_flow_run", {"job_variables": {"command": "touch MARKER"}}),
        ("POST", "/api/deployments/", {"name": "x", "flow_id": "RUN", "pull_steps": []}),
        ("PATCH", "/api/work_pools/penstock", {"base_job_template": {}}),
        ("POST", "/api/flow_runs/", {"flow_id": "RUN"}),
        ("GET", "/reports/20260101T000000Z-00000000", None), ("GET", "/ui-settings", None),
    ]:
        data = None if body is None else json.dumps(body).encode()
        for headers in ({}, {"Authorization": "Basic YWRtaW46cGFzcw=="}):
            headers["Content-Type"] = "application/json"
            request = urllib.request.Request(address + path, data, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=60, context=lax) as answer: status = answer.status
            except urllib.error.HTTPError as error: status = error.code
            except OSError as error: status = 0
            found.setdefault(str(status), []).append(method + " " + path)
print(json.dumps(found))
"""
TAKE_PORTS = """
import json, socket, sys
taken = []
for port in map(int, sys.argv[1:]):
    for host in ("127.0.0.1", "0.0.0.0"):
        for option in (None, socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            with socket.socket() as mine:
                if option is not None: mine.setsockopt(socket.SOL_SOCKET, option, 1)
                try:
                    mine.bind((host, port)); mine.listen(); taken.append([host, port])
                except OSError: pass
print(json.dumps(taken))
"""
READ = """
import json, sys
read = []
for path in sys.argv[1:]:
    try: open(path, "rb").read(1); read.append(path)
    except OSError: pass
print(json.dumps(read))
"""


class Person:
    """A browser without a screen: cookies, and the origin of our own page."""

    def __init__(self, address: str) -> None:
        self.address, self.cookies = address, CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def ask(self, path: str, data: bytes | None = None, kind: str = "application/json") -> tuple[int, str]:
        headers = {"Origin": self.address, "Content-Type": kind}
        try:
            with self._opener.open(urllib.request.Request(self.address + path, data, headers), timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def sign_in(self, name: str, password: str = PASSWORD) -> int:
        found = re.search(r'name="csrf" value="([^"]+)"', self.ask("/sign-in")[1])
        fields = {"csrf": found[1] if found else "", "goal": "/account", "name": name, "password": password}
        return self.ask("/sign-in", urlencode(fields).encode(), "application/x-www-form-urlencoded")[0]

    @property
    def cookie(self) -> str:
        return "; ".join(f"{each.name}={each.value}" for each in self.cookies)


class Service:
    """A served home, and somebody who reads there."""

    def __init__(self, folder: Path) -> None:
        place = Workplace(folder)
        place.write_spec()
        self.serving = Serving(place.home, folder)
        self.marker = folder / "marker"
        added = self.serving.typed("users", "add", "rolf", "--role", "reader", "--reason", "Reads", "--json")
        home, once = Home(place.home), json.loads(added)["password"]
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("PENSTOCK_DB", raising=False)
            log = open_records(home=home).log
        change_password(log, home, "rolf", once, PASSWORD, now=datetime.now(UTC))
        self.serving.ready()

    def ports(self) -> list[int]:
        """Where its processes listen."""
        found = set()
        for pid in processes(str(self.serving.home)):
            for each in psutil.Process(pid).net_connections("tcp"):
                if each.status == psutil.CONN_LISTEN:
                    assert each.laddr.ip == "127.0.0.1"
                    found.add(each.laddr.port)
        return sorted(found)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("service"))
    try:
        yield made
    finally:
        made.serving.clear_away()


def test_nothing_is_done_for_somebody_nobody_knows_at_any_port(service: Service) -> None:
    require_other_user()
    others = [port for port in service.ports() if port != service.serving.port]
    assert others  # Prefect's own API, for the worker and the gateway
    script = TRY_EVERYTHING.replace("MARKER", str(service.marker)).replace("RUN", RUN)
    found = json.loads(as_nobody(script, service.serving.address))
    assert set(found) <= {"401", "403", "404"}, found
    private = [f"{scheme}://127.0.0.1:{port}" for port in others for scheme in ("http", "https")]
    assert set(json.loads(as_nobody(script, *private))) == {"0"}  # not even a connection
    assert not service.marker.exists()


def test_connections_to_the_private_port_are_not_held_by_others(service: Service) -> None:
    """They took every descriptor of the process, and the gateway answered nobody."""
    require_other_user()
    [private] = [port for port in service.ports() if port != service.serving.port]
    assert as_nobody(HOLD, private, 900) == "0"
    assert Person(service.serving.address).ask("/sign-in")[0] == 200


def test_what_proves_the_service_to_itself_is_read_by_nobody_else(service: Service) -> None:
    require_other_user()
    home = service.serving.home
    secrets = [home / "prefect" / name for name in ("api.key", "api.pem", "prefect.db")]
    secrets.append(home / "keys" / "secret.key")
    assert all(path.exists() for path in secrets)
    environments = [f"/proc/{pid}/environ" for pid in processes(str(home))]
    assert as_nobody(READ, *secrets, *environments) == "[]"
    for line in processes(str(home)).values():
        assert "penstock:" not in line  # the token is in no list of processes


def test_no_port_can_be_taken_not_even_when_the_server_has_died(service: Service) -> None:
    require_other_user()
    ports = service.ports()
    assert as_nobody(TAKE_PORTS, *ports) == "[]"
    running = processes(str(service.serving.home))
    [server] = [pid for pid, line in running.items() if "server_process" in line]
    os.kill(server, signal.SIGSTOP)  # it answers nobody, as if it had died
    try:
        assert as_nobody(TAKE_PORTS, *ports) == "[]"
    finally:
        os.kill(server, signal.SIGCONT)


def test_a_cookie_that_another_user_gets_hold_of_is_worth_nothing(service: Service) -> None:
    """Browsers send it to every port of a host, also to a page that somebody else serves on this machine."""
    require_other_user()
    person = Person(service.serving.address)
    assert person.sign_in("rolf") == 200
    assert person.ask("/api/admin/version")[0] == 200
    assert as_nobody(REPLAY, f"{service.serving.address}/api/admin/version", person.cookie) == "401"
    assert person.ask("/api/admin/version")[0] == 200


@pytest.mark.parametrize("role", ["reader", "requester", "reviewer", "officer"])
def test_no_role_orders_a_command_a_step_or_an_entrypoint(service: Service, role: str) -> None:
    name = f"program-{role}"
    added = service.serving.typed("users", "add", name, "--program", "--role", role, "--reason", "Tries", "--json")
    credentials = f"{name}:{json.loads(added)['token']}"
    ours = service.serving.api("/deployments/name/release-spec/release")
    command = {"command": f"touch {service.marker}"}
    step = {"prefect.deployments.steps.run_shell_script": {"script": f"touch {service.marker}"}}
    started = {"parameters": {"spec": "spec.yaml"}, "job_variables": command}
    made = {"name": "x", "flow_id": ours["flow_id"], "pull_steps": [step], "work_pool_name": "penstock"}
    bare = {"flow_id": ours["flow_id"], "work_pool_name": "penstock", "job_variables": command}
    for method, path, body in [
        ("POST", f"/deployments/{ours['id']}/create_flow_run", started),
        ("POST", "/deployments/", made),
        ("PATCH", f"/deployments/{ours['id']}", {"entrypoint": f"{service.marker}.py:x"}),
        ("PATCH", "/work_pools/penstock", {"base_job_template": {}}),
        ("POST", "/flow_runs/", bare),
        ("POST", "/automations/", {}),
        ("POST", "/block_documents/", {}),
    ]:
        data = json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **authorization(credentials)}
        request = urllib.request.Request(f"{service.serving.address}/api{path}", data, headers, method=method)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=60)
        refused.value.close()
        assert refused.value.code == 403
    assert not service.marker.exists()


def test_a_form_names_no_other_starter_and_is_not_computed(service: Service) -> None:
    """Prefect works out what stands in a form: a value took the place of all parameters, with another starter in it,
    so that people approved their own run; and a template kept the server busy."""
    added = service.serving.typed(
        "users", "add", "wraps", "--program", "--role", "requester", "--reason", "x", "--json"
    )
    credentials = f"wraps:{json.loads(added)['token']}"
    ours = service.serving.api("/deployments/name/release-spec/release")
    start = f"{service.serving.address}/api/deployments/{ours['id']}/create_flow_run"
    forged = {"spec": "absent.yaml", "started_by": "somebody"}
    for wrapped in (
        {"__prefect_kind": "none", "value": forged},
        {"__prefect_kind": "json", "value": json.dumps(forged)},
    ):
        made = ask(start, {"parameters": wrapped}, credentials=credentials)
        assert made["parameters"] == {"spec": "absent.yaml", "started_by": "wraps"}
    for refused in (
        {"__prefect_kind": "whatever", "value": forged},
        {"spec": {"__prefect_kind": "jinja", "template": "{{ 7**12000000 > 1 }}"}},
    ):
        with pytest.raises(urllib.error.HTTPError) as answer:
            ask(start, {"parameters": refused}, credentials=credentials)
        answer.value.close()
        assert answer.value.code == 422


def test_a_schema_of_ones_own_is_not_looked_at(service: Service) -> None:
    """Its pattern kept the whole service busy for longer than anybody waits."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    body = json.dumps({"schema": schema, "values": {"a": "a" * 60 + "!"}}).encode()
    person = Person(service.serving.address)
    assert person.sign_in("rolf") == 200
    status, told = person.ask("/api/ui/schemas/validate", body)
    assert (status, json.loads(told)) == (200, {"valid": True, "errors": []})


def test_a_deployment_and_a_pool_that_were_changed_behind_the_gateway_run_nothing(service: Service) -> None:
    serving = service.serving
    ours = serving.behind("/deployments/name/release-spec/release")
    step = {"prefect.deployments.steps.run_shell_script": {"script": f"touch {service.marker}"}}
    serving.behind(f"/deployments/{ours['id']}", {"pull_steps": [step]}, "PATCH")
    flow_run = serving.trigger("release-spec/release", spec="spec.yaml")
    assert "order-refused" in serving.until(flow_run, "CRASHED")["message"]
    serving.behind(f"/deployments/{ours['id']}", {"pull_steps": []}, "PATCH")
    template = serving.behind("/work_pools/penstock")["base_job_template"]
    configuration = {**template["job_configuration"], "command": f"touch {service.marker}"}
    changed = {**template, "job_configuration": configuration}
    serving.behind("/work_pools/penstock", {"base_job_template": changed}, "PATCH")
    flow_run = serving.trigger("release-spec/release", spec="spec.yaml")
    assert "order-refused" in serving.until(flow_run, "CRASHED")["message"]
    serving.behind("/work_pools/penstock", {"base_job_template": template}, "PATCH")
    assert not service.marker.exists()


def test_passwords_are_not_guessed_also_not_by_many_at_once(service: Service) -> None:
    def guess(number: int) -> int:
        return Person(service.serving.address).sign_in("rolf", f"a guess, number {number}")

    with ThreadPoolExecutor(16) as crowd:
        answers = list(crowd.map(guess, range(40)))
    assert set(answers) == {403, 429}
    assert answers.count(403) <= 5
    assert Person(service.serving.address).sign_in("rolf") == 429  # also the right one, for a minute
    written = open_records(home=Home(service.serving.home)).log.events()
    assert len([event for event in written if event.action is Action.SIGN_IN_REFUSED]) <= 5


def test_requests_that_are_too_long_or_too_slow_end_and_hold_nobody(service: Service) -> None:
    port = service.serving.port
    host = f"Host: 127.0.0.1:{port}\r\n".encode()

    def sent(*parts: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", port), timeout=LONGEST_WAIT) as caller:
            try:
                for part in parts:
                    caller.sendall(part)
                return caller.recv(100)
            except ConnectionError:
                return b""  # cut off while it was still talking

    long_header = sent(b"GET / HTTP/1.1\r\n" + host, *(b"X-Filler: " + b"a" * 8000 + b"\r\n" for _ in range(100)))
    assert long_header[:12] in (b"HTTP/1.1 400", b"")
    many = sent(b"GET / HTTP/1.1\r\n" + host + b"".join(b"X-%d: a\r\n" % n for n in range(200)) + b"\r\n")
    assert many.startswith(b"HTTP/1.1 431")
    body = b"POST /sign-in HTTP/1.1\r\n" + host + f"Origin: http://127.0.0.1:{port}\r\n".encode()
    body += b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000000\r\n\r\n"
    assert sent(body, *(b"a" * 65536 for _ in range(40)))[:12] in (b"HTTP/1.1 413", b"")

    slow = [socket.create_connection(("127.0.0.1", port), timeout=LONGEST_WAIT) for _ in range(50)]
    try:
        for each in slow:
            each.sendall(b"GET / HTTP/1.1\r\n")  # and no more
        assert Person(service.serving.address).ask("/sign-in")[0] == 200
        assert [each.recv(10) for each in slow] == [b""] * len(slow)  # the service hangs up, sooner or later
    finally:
        for each in slow:
            each.close()
