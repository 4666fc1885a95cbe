"""`sanbu kb eval`: how well questions with known answers find their scenes and fields, as tables or as one object."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.progress import Progress
from rich.text import Text

from gateway.app import open_knowledge, resolver_maker
from gateway.cli.catalogs import catalog_folder
from gateway.cli.faults import Failure
from gateway.cli.terminal import counted, err, index_progress, out, print_json, table
from gateway.log import configure_logging
from gateway.settings import Settings
from scene_kb.cards import cards_of
from scene_kb.catalog import load_catalog
from scene_kb.embedders.base import open_embedder
from scene_kb.evaluate import Miss, Report, evaluate
from scene_kb.exchange import GOLDEN, Question, labelled, read_questions, read_scenes
from scene_kb.index import open_index
from scene_kb.measures import Bin, Figure, Share
from scene_kb.models import Candidate, SceneCard
from scene_kb.resolver import Resolver
from scene_kb.visibility import answering_scenes

_BAR = 40
"""Columns of the reliability plot, from confidence 0 to 1."""


@dataclass(frozen=True)
class Asked:
    """What is measured: questions, the scenes to choose from by ref, and who chooses."""

    cards: Mapping[str, SceneCard]
    questions: Sequence[Question]
    resolver: Resolver
    withheld: frozenset[str] = frozenset()


def run_eval(
    settings: Settings, catalog: str | None, scenes: Path | None, questions: Path | None, *, explain: int, as_json: bool
) -> None:
    """Prints the figures with their intervals, and the first `explain` misses with every candidate's scores.

    `catalog`: as the command line names it; without it, and without files, the catalog of the settings is measured.

    Raises Failure, CatalogFault, MalformedLine, UnknownLabel, EmbedderUnavailable and RerankerUnavailable.
    """
    configure_logging("ERROR")
    if scenes is None and questions is None:
        asked = _of_catalog(settings)
    elif catalog is None and scenes is not None and questions is not None:
        asked = _of_files(scenes, questions, settings)
    else:
        raise Failure("give --scenes together with --questions, and without --catalog")
    # The bar is drawn between questions: a thread of its own would take its time from the question that is timed.
    with Progress(console=err, transient=True, auto_refresh=False, disable=not err.is_terminal) as bars:
        report = evaluate(
            asked.cards,
            asked.questions,
            lambda _: asked.resolver,
            withheld=asked.withheld,
            track=lambda each, what: bars.track(each, description=what),
        )
    misses = report.misses[:explain]
    if as_json:
        print_json(report.to_json() | ({"misses": [miss.to_json() for miss in misses]} if explain else {}))
        return
    _show(report, scenes=len(asked.cards))
    for miss in misses:
        _show_miss(miss)
    if len(report.misses) > explain:
        out.print(Text(f"\n{counted(len(report.misses), 'miss', 'misses')}; --explain N shows the first N of them"))


def _of_catalog(settings: Settings) -> Asked:
    """The scenes that answer today, whoever may see them: what is measured is retrieval, not permission."""
    folder = catalog_folder(settings.catalog)
    catalog = load_catalog(folder)
    if not (folder / GOLDEN).exists():
        raise Failure(
            f"{folder} has no {GOLDEN} to be measured by; write one question a line, such as"
            ' {"id": "1", "query": "…", "sceneId": "…", "fields": ["…"]}, with sceneId null where no scene answers'
        )
    questions = _read_questions(folder / GOLDEN)
    today = (settings.now or datetime.now(UTC)).date()
    answering = answering_scenes(catalog, today=today)
    cards = dict(zip(answering, cards_of(answering.values(), catalog), strict=True))
    asked = labelled(questions, cards.values())
    with index_progress() as progress:
        index, embedder = open_knowledge(catalog, folder, settings, progress=progress)
    return Asked(cards, asked, resolver_maker(settings)(index, embedder))


def _of_files(scenes: Path, questions: Path, settings: Settings) -> Asked:
    try:
        read = read_scenes(scenes)
    except OSError as error:
        raise _unreadable(scenes, error) from error
    if not read.cards:
        raise Failure(f"{scenes} holds no scene")
    asked = labelled(_read_questions(questions), read.cards)
    embedder = open_embedder(settings.embedder)
    # By where the scenes lie, so that the next evaluation embeds only what is new.
    place = hashlib.sha256(str(scenes.resolve()).encode()).hexdigest()[:12]
    with index_progress() as progress:
        index = open_index(read.cards, settings.cache_folder("index", f"eval-{place}"), embedder, progress=progress)
    return Asked(index.by_ref, asked, resolver_maker(settings)(index, embedder), read.withheld)


def _read_questions(path: Path) -> tuple[Question, ...]:
    try:
        questions = read_questions(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if not questions:
        raise Failure(f"{path} holds no question")
    return questions


def _unreadable(path: Path, error: OSError) -> Failure:
    return Failure(f"{path} cannot be read: {error.strerror}")


# What a person sees -------------------------------------------------------------------------------------------------


def _show(report: Report, *, scenes: int) -> None:
    rows: list[tuple[object, ...]] = []
    for part, count, figures in (
        ("routing", report.routed, report.routing),
        ("fields", report.fielded, report.fields),
        ("no match", report.judged, report.no_match),
    ):
        rows += [(f"{part} {name}", count, *_cells(figure)) for name, figure in (figures or {}).items()]
    rows += [_share_row("matched that are right", report.matched_right)]
    rows += [_share_row("answerable that are matched", report.answerable_matched)]
    rows += [("expected calibration error", report.judged, f"{report.ece:.3f}", "")]
    rows += [(f"ms {name}", report.judged, *_cells(it, digits=1)) for name, it in report.latency_ms.items()]
    size = f"{counted(report.judged, 'question')} over {counted(scenes, 'scene')}"
    title = f"{size}; {report.embedded:.0%} needed the query's vector"
    out.print(table(title, ("figure", "of", "value", "95 % interval"), rows, right=(1, 2, 3)))
    if report.no_match is None:
        out.print(Text("no figure for no match: it takes questions with an answer, and questions without"))
    out.print()
    out.print(
        table(
            "reliability: answers by confidence (│), and how many of them are right (█)",
            ("answers", "confidence", "right", "0" + " " * (_BAR - 1) + "1"),
            [(it.count, f"{it.confidence:.3f}", f"{it.right:.3f}", plotted(it)) for it in report.bins],
            right=(0, 1, 2),
        )
    )


def plotted(bin_: Bin) -> str:
    """Filled up to the share of right answers, with a stroke at their mean confidence; both at one place are even."""
    columns = list(("█" * round(bin_.right * _BAR)).ljust(_BAR + 1))
    columns[round(bin_.confidence * _BAR)] = "│"
    return "".join(columns)


def _cells(figure: Figure, *, digits: int = 3) -> tuple[str, str]:
    return f"{figure.value:.{digits}f}", f"{figure.low:.{digits}f} to {figure.high:.{digits}f}"


def _share_row(name: str, share: Share) -> tuple[object, ...]:
    return (name, share.of, *(_cells(share.figure) if share.figure else ("", "")))


def _show_miss(miss: Miss) -> None:
    """The candidates by place, then a line for each score with a column for each of them."""
    candidates = miss.match.candidates
    lines = [f"expected {miss.expected or 'no scene'}; {miss.match.verdict}"]
    lines += [f"{place:>3}  {it.ref}{_mark(it, miss)}" for place, it in enumerate(candidates, start=1)]
    lines += [_scores("", [str(place) for place in range(1, len(candidates) + 1)])]
    lines += [_scores("confidence", [f"{it.confidence:.3f}" for it in candidates])]
    for name in dict.fromkeys(name for it in candidates for name in it.scores):
        lines += [_scores(name, [f"{it.scores.get(name, 0.0):.3f}" for it in candidates])]
    out.print(Text(f"\n{miss.question.id}: {miss.question.query}", style="bold"), soft_wrap=True)
    out.print(Text("\n".join(lines)), soft_wrap=True)


def _mark(candidate: Candidate, miss: Miss) -> str:
    return "  ← expected" if candidate.ref == miss.expected else ""


def _scores(name: str, cells: Sequence[str]) -> str:
    return f"{name:<20}" + "".join(f"{cell:>8}" for cell in cells)
