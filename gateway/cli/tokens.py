"""`sanbu token`: static tokens for callers over HTTP, of which only hashes are kept."""

import sys
from datetime import UTC, datetime, timedelta

from gateway.cli.faults import Failure
from gateway.cli.terminal import out, print_json, table
from gateway.settings import Settings
from gateway.tokens import StoredToken, TokenFile


def run_add(settings: Settings, principal: str, *, roles: list[str], attributes: list[str], days: int | None) -> None:
    """Prints the token on stdout, once and for all. Raises Failure."""
    expires_at = datetime.now(UTC) + timedelta(days=days) if days else None
    kept, token = _file(settings).add(
        principal, roles=tuple(roles), attributes=_attributes(attributes), expires_at=expires_at
    )
    sys.stderr.write(f"token {kept.id} of {principal}; it is shown this once and cannot be read again:\n")
    sys.stdout.write(f"{token}\n")


def run_list(settings: Settings, *, as_json: bool) -> None:
    """Prints what each token stands for; of the token itself nothing is known."""
    tokens = _file(settings).tokens()
    if as_json:
        print_json([_wire(it) for it in tokens])
        return
    rows = [(it.id, it.principal, ", ".join(it.roles), _said(it), _until(it)) for it in tokens]
    out.print(table(None, ("id", "principal", "roles", "attributes", "until"), rows, whole=(0,)))


def run_remove(settings: Settings, token_id: str) -> None:
    """From the next request on it is refused. Raises Failure."""
    gone = _file(settings).remove(token_id)
    if gone is None:
        raise Failure(f"there is no token {token_id}; sanbu token list shows their ids")
    sys.stderr.write(f"token {gone.id} of {gone.principal} no longer holds\n")


def _file(settings: Settings) -> TokenFile:
    if settings.tokens_file is None:
        raise Failure("SANBU_TOKENS_FILE: set it to the file that keeps the tokens' hashes")
    return TokenFile(settings.tokens_file)


def _attributes(given: list[str]) -> dict[str, tuple[str, ...]]:
    """NAME=VALUE pairs; a name given twice has both values."""
    attributes: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise Failure(f"--attribute {text}: write NAME=VALUE")
        attributes[name] = (*attributes.get(name, ()), value)
    return attributes


def _wire(token: StoredToken) -> dict[str, object]:
    return {
        "id": token.id,
        "principal": token.principal,
        "roles": list(token.roles),
        "attributes": {name: list(values) for name, values in token.attributes.items()},
        "expiresAt": token.expires_at.isoformat() if token.expires_at else None,
    }


def _said(token: StoredToken) -> str:
    return "; ".join(f"{name}: {', '.join(values)}" for name, values in token.attributes.items())


def _until(token: StoredToken) -> str:
    if token.expires_at is None:
        return "removed"
    day = token.expires_at.astimezone().strftime("%Y-%m-%d %H:%M")
    return f"{day}, expired" if token.has_expired(datetime.now(UTC)) else day
