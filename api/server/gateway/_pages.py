"""The gateway's own pages: signing in, choosing a password, and why somebody was turned away."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from penstock.server.gateway.door import Turned
from penstock.server.gateway.visitors import Visitor

__all__ = [
    "PAGE_HEADERS",
    "account_page",
    "form_fields",
    "own_path",
    "sign_in_page",
    "sign_in_path",
    "turned_page",
    "with_name",
]

PAGE_HEADERS = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
}
_FIELDS_AT_MOST = 8
_pages = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"), autoescape=True, undefined=StrictUndefined
)


def sign_in_page(csrf: str, goal: str, note: str = "") -> bytes:
    """Return the form for name and password. note: why it is shown again."""
    return _page("sign_in.html", csrf=csrf, goal=goal, note=note)


def account_page(visitor: Visitor, csrf: str, *, must_choose: bool, note: str = "") -> bytes:
    """Return the page of one's own account: roles, another password, signing out."""
    roles = sorted(visitor.user.roles)
    return _page("account.html", name=visitor.name, roles=roles, csrf=csrf, must_choose=must_choose, note=note)


def turned_page(turned: Turned) -> bytes:
    """Return the page that says why a request was refused."""
    return _page("turned.html", sentence=turned.sentence)


def with_name(page: bytes, visitor: Visitor) -> bytes:
    """Return one of Prefect's pages with a link to the visitor's account in its corner."""
    return page.replace(b"</body>", _page("corner.html", name=visitor.name) + b"</body>")


def form_fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form that a browser has sent, each once."""
    try:
        fields = parse_qs(
            body.decode("ascii"), keep_blank_values=True, strict_parsing=True, max_num_fields=_FIELDS_AT_MOST
        )
    except ValueError:
        raise Turned(422, "This is not one of our forms.") from None
    if any(len(values) != 1 for values in fields.values()):
        raise Turned(422, "A field of the form stands twice.")
    return {name: values[0] for name, values in fields.items()}


def sign_in_path(path: str, query: str) -> str:
    """Return where to sign in, and come back to this page."""
    return "/sign-in?goal=" + quote(f"{path}?{query}" if query else path, safe="")


def own_path(goal: str) -> str:
    """Return a path of this site to go to; anything that could lead elsewhere becomes the first page."""
    try:
        parts = urlsplit(goal)
    except ValueError:
        return "/"
    lawful = goal.isascii() and goal.isprintable() and "\\" not in goal and len(goal) < 2000
    if parts.scheme or parts.netloc or not goal.startswith("/") or goal.startswith("//") or not lawful:
        return "/"
    return goal


def _page(template: str, **facts: object) -> bytes:
    return _pages.get_template(template).render(**facts).encode()
