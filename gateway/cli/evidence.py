"""`sanbu evidence`: verify what an action is going to rest on, and show it to the person who must approve."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import anyio
from rich.text import Text

from engine.dataset import Language
from gateway.app import open_app
from gateway.cli.faults import Failure
from gateway.cli.steps import filters_said
from gateway.cli.terminal import index_progress, out, print_json, show_problem
from gateway.log import configure_logging
from gateway.messages import say
from gateway.settings import Settings

Wire = Mapping[str, Any]

_SHOWN = 10


def run_evidence(
    settings: Settings,
    given: Mapping[str, object],
    ids: list[str],
    absent: list[str],
    *,
    whole: bool,
    as_json: bool,
) -> None:
    """Prints the verdict; with `whole` before it what is proposed, and all that the evidence says.

    Status 1 where it is not verified.
    """
    proposed = {"ids": _ids_from(ids), "absent": _ids_from(absent)}
    said = _verdict(settings, {name: value for name, value in {**given, **proposed}.items() if value})
    if as_json:
        print_json(said)
    elif "error" in said:
        show_problem(said)
    else:
        shown = [*_proposal(proposed, said["language"]), *_standing(said, said["language"])] if whole else []
        claims = any(proposed.values()) or bool(given.get("requireComplete"))
        for line in (*shown, *_verdict_lines(said, said["language"], claims=claims)):
            out.print(Text(line), soft_wrap=True)
    if not said.get("verified"):
        raise SystemExit(1)


def _ids_from(texts: list[str]) -> list[Any]:
    """`a,b`, a JSON list, or a JSON object for a row that takes several columns to name. Raises Failure."""
    ids: list[Any] = []
    for text in texts:
        if text.lstrip().startswith(("[", "{")):
            try:
                read = json.loads(text)
            except ValueError as error:
                raise Failure(f"--ids {text}: neither JSON nor ids such as a,b ({error})") from error
            ids += read if isinstance(read, list) else [read]
        else:
            ids += [part.strip() for part in text.split(",") if part.strip()]
    return ids


def _verdict(settings: Settings, given: Mapping[str, object]) -> Wire:
    configure_logging("ERROR")

    async def main() -> Wire:
        with index_progress() as progress:
            async with open_app(settings, progress=progress) as app:
                return (await app.gateway.answer("verifyEvidence", given, app.local)).said

    return anyio.run(main)


def _proposal(proposed: Mapping[str, list[Any]], language: Language) -> Iterator[str]:
    """What somebody wants to act on, and what they say does not exist."""
    for name, key in (("ids", "show.proposed"), ("absent", "show.absent")):
        if proposed[name]:
            yield say(key, language, ids=_listed(proposed[name]))


def _standing(said: Wire, language: Language) -> Iterator[str]:
    """What was asked, what was found, what is missing and what can be done, as of when, under which visibility."""
    if "scope" not in said:
        return
    asked, scope, snapshot = said["asked"], said["scope"], said["snapshot"]
    yield say("show.asked", language, of=asked["of"], scene=scope.get("scene") or scope.get("apiNo"), by=asked["by"])
    filters = filters_said(scope["filters"]) or say("show.scope.all", language)
    limited = say("show.scope.limit", language, limit=scope["limit"]) if scope["limit"] is not None else ""
    yield say("show.scope", language, filters=filters) + limited
    named = "show.named.first" if any(said["first"]) else "show.named"
    yield say(named, language, named=said["named"], first=_listed(said["first"]))
    if said["complete"]:
        yield say("show.complete" if scope["limit"] is None else "show.complete.limit", language)
    for reason in said["reasons"]:
        yield say("show.missing", language, message=reason["message"])
    key = "show.asOf.data" if snapshot["dataAsOf"] else "show.asOf"
    yield say(key, language, taken=snapshot["takenAt"], asOf=snapshot["dataAsOf"])
    yield say("show.visibility", language, visibility=scope["visibility"])
    yield say("show.until", language, until=said["verifiableUntil"])


def _verdict_lines(said: Wire, language: Language, *, claims: bool) -> Iterator[str]:
    """`claims`: whether there is anything to verify but the token."""
    if said["verified"]:
        yield say("show.verified" if claims else "show.sound", language)
    for refusal in said["refusals"]:
        ids = f" ({_listed(refusal['ids'])})" if refusal.get("ids") else ""
        message = f"{refusal['message']}{ids}"
        yield say("show.refused", language, message=message, suggestion=refusal["suggestion"])


def _listed(ids: list[Any]) -> str:
    """So many of the ids as a person reads; those with one name by their value."""
    values = [next(iter(it.values())) if isinstance(it, Mapping) and len(it) == 1 else it for it in ids]
    texts = [json.dumps(it, ensure_ascii=False) if isinstance(it, Mapping) else str(it) for it in values[:_SHOWN]]
    return ", ".join(texts) + (f" … {len(ids) - _SHOWN}" if len(ids) > _SHOWN else "")
