"""`sanbu`: the commands and their options. Each imports its work when it is called, so that --help is instant."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gateway.settings import Settings

app = typer.Typer(
    name="sanbu",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: loading rich takes longer than all the rest
    help="Sanbu (三步): three tools between an agent and business data. Every answer says whether it is complete.",
)
kb = typer.Typer(no_args_is_help=True, help="The scene knowledge base: check, build and measure it.")
trace = typer.Typer(no_args_is_help=True, help="What happened in a session, and which there are.")
evidence = typer.Typer(no_args_is_help=True, help="What an action rests on: show it, and verify it.")
token = typer.Typer(no_args_is_help=True, help="Static tokens for callers over HTTP.")
audit = typer.Typer(no_args_is_help=True, help="Who asked what, under which permission, and what left.")
policy = typer.Typer(no_args_is_help=True, help="Who sees what: explained, and held against expectations.")
app.add_typer(kb, name="kb")
app.add_typer(policy, name="policy")
app.add_typer(audit, name="audit")
app.add_typer(token, name="token")
app.add_typer(evidence, name="evidence")
app.add_typer(trace, name="trace")

Catalog = Annotated[
    str | None, typer.Option("--catalog", "-c", help="A catalog folder, or ads or flights.  [default: ads]")
]
Now = Annotated[str | None, typer.Option("--now", help="A fixed clock with offset, such as 2026-11-30T09:00:00+08:00.")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object on stdout.")]


def settings_from(**given: object) -> "Settings":
    """Settings with what the command line says over environment and .env file. Raises Failure."""
    from gateway.cli import configured

    return configured.settings_from(given)


@app.command()
def init(
    source: Annotated[
        str, typer.Argument(help="A Parquet, CSV or DuckDB file, a folder of Parquet files, or ads or flights.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to make.")],
) -> None:
    """Draft a catalog from data, ready to check and ask; or copy a catalog that comes with the package."""
    from gateway.cli.catalogs import run_init

    run_init(settings_from(), source, out)


@app.command()
def demo(catalog: Annotated[str | None, typer.Argument(help="ads or flights; both where left out.")] = None) -> None:
    """Ask five questions through a real MCP client, and show the three steps of each."""
    from gateway.cli.demo import run_demo

    run_demo(settings_from(), catalog)


@app.command()
def serve(
    catalog: Catalog = None,
    stdio: Annotated[bool, typer.Option("--stdio", help="MCP over stdin and stdout, for a local agent.")] = False,
    http: Annotated[bool, typer.Option("--http", help="MCP at /mcp and JSON at /v1, over HTTP.")] = False,
    host: Annotated[str | None, typer.Option(help="Where to listen.  [default: 127.0.0.1]")] = None,
    port: Annotated[int | None, typer.Option(help="[default: 8722]")] = None,
    now: Now = None,
    log_level: Annotated[str | None, typer.Option(help="DEBUG, INFO, WARNING or ERROR; to stderr.")] = None,
) -> None:
    """Serve the three tools."""
    from gateway.cli.serve import run_serve

    run_serve(
        settings_from(catalog=catalog, host=host, port=port, now=now, log_level=log_level), stdio=stdio, http=http
    )


@app.command()
def ask(
    query: Annotated[str, typer.Argument(help="The task in plain words, Chinese or English.")],
    catalog: Catalog = None,
    scene: Annotated[str | None, typer.Option(help="Pin a scene instead of finding one.")] = None,
    dimension: Annotated[list[str] | None, typer.Option(help="Keep only scenes of this dimension; repeatable.")] = None,
    now: Now = None,
    as_json: Json = False,
) -> None:
    """Run the three steps as a client would, and print each."""
    from gateway.cli.ask import run_ask

    run_ask(settings_from(catalog=catalog, now=now), query, scene=scene, dimensions=dimension or [], as_json=as_json)


@app.command()
def query(
    api_no: Annotated[str, typer.Argument(help="The dataset's apiNo.")],
    field: Annotated[
        list[str] | None, typer.Option("--field", "-f", help="name, name:avg or row_count; repeatable.")
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option("--where", "-w", help="NAME=VALUE, or a JSON object of filters; repeatable.")
    ] = None,
    group_by: Annotated[list[str] | None, typer.Option("--group-by", "-g", help="A dimension, or date:week.")] = None,
    order_by: Annotated[
        list[str] | None, typer.Option("--order-by", "-s", help="name, or -name for descending.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1)] = None,
    page_size: Annotated[int | None, typer.Option(min=1, max=500)] = None,
    cursor: Annotated[str | None, typer.Option(help="From the last answer, for the next page.")] = None,
    since: Annotated[str | None, typer.Option(help="Evidence of an earlier answer: show what changed since.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what would run, and run nothing.")] = False,
    catalog: Catalog = None,
    now: Now = None,
    as_json: Json = False,
) -> None:
    """A person's query: the same engine under the same permissions, without a scene."""
    from gateway.cli.query import run_query

    given = {
        "apiNo": api_no,
        "fields": field,
        "groupBy": group_by,
        "orderBy": order_by,
        "limit": limit,
        "pageSize": page_size,
        "cursor": cursor,
        "since": since,
    }
    run_query(settings_from(catalog=catalog, now=now), given, where or [], explain=explain, as_json=as_json)


@app.command()
def doctor(catalog: Catalog = None, as_json: Json = False) -> None:
    """Check this installation, the catalog and its sources, and say what to do about each fault."""
    from gateway.cli.doctor import run_doctor

    run_doctor(settings_from(catalog=catalog), as_json=as_json)


@kb.command("check")
def kb_check(
    folder: Annotated[str, typer.Argument(help="A catalog folder, or ads or flights.")], as_json: Json = False
) -> None:
    """Check a catalog's files: every fault with file, line and fix."""
    from gateway.cli.catalogs import run_check

    run_check(folder, as_json=as_json)


@kb.command("build")
def kb_build(
    folder: Annotated[str, typer.Argument(help="A catalog folder, or ads or flights.")], as_json: Json = False
) -> None:
    """Build and publish the catalog's retrieval index."""
    from gateway.cli.catalogs import run_build

    run_build(settings_from(catalog=folder), as_json=as_json)


@kb.command("eval")
def kb_eval(
    scenes: Annotated[Path | None, typer.Option(help="Scenes as JSON lines, instead of a catalog.")] = None,
    questions: Annotated[Path | None, typer.Option(help="Questions with their answers, as JSON lines.")] = None,
    catalog: Catalog = None,
    explain: Annotated[int, typer.Option(min=0, help="Show so many misses with every candidate's scores.")] = 0,
    as_json: Json = False,
) -> None:
    """Measure how well questions with known answers find scenes and fields: a catalog's golden.jsonl, or two files."""
    from gateway.cli.evaluation import run_eval

    run_eval(settings_from(catalog=catalog), catalog, scenes, questions, explain=explain, as_json=as_json)


@policy.command("explain")
def policy_explain(
    dataset: Annotated[str, typer.Argument(help="The dataset's apiNo.")],
    user: Annotated[str, typer.Option("--as", help="Whose eyes to look through.")],
    role: Annotated[list[str] | None, typer.Option(help="A role of theirs; repeatable.  [default: localRoles]")] = None,
    attribute: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE that row rules look at; repeatable, also for one name.")
    ] = None,
    catalog: Catalog = None,
    as_json: Json = False,
) -> None:
    """Say what somebody sees of a dataset, and which rule of which role says so."""
    from gateway.cli.policy import run_explain

    run_explain(
        settings_from(catalog=catalog), user, dataset, roles=role or [], attributes=attribute or [], as_json=as_json
    )


@policy.command("test")
def policy_test(catalog: Catalog = None, as_json: Json = False) -> None:
    """Hold the catalog's policy_tests.yaml against its policies. Status 1 where anything is otherwise."""
    from gateway.cli.policy import run_test

    run_test(settings_from(catalog=catalog), as_json=as_json)


Token = Annotated[str, typer.Argument(help="The answer's evidence.")]
Ids = Annotated[
    list[str] | None, typer.Option("--ids", help="Rows to act on: a,b, a JSON list, or {column: value}; repeatable.")
]
Absent = Annotated[list[str] | None, typer.Option("--absent", help="Rows that are said not to exist.")]
Whole = Annotated[bool, typer.Option("--require-complete", help="Refuse where the answer was not complete.")]
Recheck = Annotated[bool, typer.Option("--recheck", help="Read the rows again, under the same filters.")]
Spoken = Annotated[str | None, typer.Option("--language", help="zh or en.  [default: the answer's]")]


@evidence.command("verify")
def evidence_verify(
    token: Token,
    ids: Ids = None,
    absent: Absent = None,
    require_complete: Whole = False,
    recheck: Recheck = False,
    language: Spoken = None,
    catalog: Catalog = None,
    as_json: Json = False,
) -> None:
    """Whether the answer named these rows, and every refusal with what to do about it. Status 1 where it is refused."""
    from gateway.cli.evidence import run_evidence

    given = {"token": token, "requireComplete": require_complete, "recheck": recheck, "language": language}
    run_evidence(settings_from(catalog=catalog), given, ids or [], absent or [], whole=False, as_json=as_json)


@evidence.command("show")
def evidence_show(
    token: Token,
    ids: Ids = None,
    absent: Absent = None,
    require_complete: Whole = False,
    recheck: Recheck = False,
    language: Spoken = None,
    catalog: Catalog = None,
    as_json: Json = False,
) -> None:
    """For who must approve: what is proposed, on which scope, what is missing and why, as of when, seen by whom."""
    from gateway.cli.evidence import run_evidence

    given = {"token": token, "requireComplete": require_complete, "recheck": recheck, "language": language}
    run_evidence(settings_from(catalog=catalog), given, ids or [], absent or [], whole=True, as_json=as_json)


@audit.command("export")
def audit_export(
    since: Annotated[str | None, typer.Option(help="A day or a moment: only what was recorded from then on.")] = None,
) -> None:
    """Print the audit log as JSON lines."""
    from gateway.cli.audit import run_export

    run_export(settings_from(), since=since)


@token.command("add")
def token_add(
    principal: Annotated[str, typer.Argument(help="Who the token stands for.")],
    role: Annotated[list[str] | None, typer.Option("--role", "-r", help="Of policies.yaml; repeatable.")] = None,
    attribute: Annotated[
        list[str] | None, typer.Option("--attribute", "-a", help="NAME=VALUE, for row rules; repeatable.")
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, help="Days that it holds.  [default: until it is removed]")] = None,
) -> None:
    """Make a token and print it, once; only its hash is kept."""
    from gateway.cli.tokens import run_add

    run_add(settings_from(), principal, roles=role or [], attributes=attribute or [], days=days)


@token.command("list")
def token_list(as_json: Json = False) -> None:
    """Which tokens hold, and what each stands for."""
    from gateway.cli.tokens import run_list

    run_list(settings_from(), as_json=as_json)


@token.command("remove")
def token_remove(token_id: Annotated[str, typer.Argument(help="From sanbu token list.")]) -> None:
    """Let a token hold no longer, from the next request on."""
    from gateway.cli.tokens import run_remove

    run_remove(settings_from(), token_id)


@trace.command("list")
def trace_list(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many.")] = 20, as_json: Json = False
) -> None:
    """The sessions that were used last, with what each asked first."""
    from gateway.cli.trace import run_list

    run_list(settings_from(), limit=limit, as_json=as_json)


@trace.command("show")
def trace_show(
    session: Annotated[
        str, typer.Argument(help="A session id, or the traceId of an error or a no_match; its beginning is enough.")
    ],
    as_json: Json = False,
) -> None:
    """The turns of a session: what was asked, what was understood, what ran, what came back."""
    from gateway.cli.trace import run_show

    run_show(settings_from(), session, as_json=as_json)


def main() -> None:
    """The entry point: every foreseen fault is one sentence on stderr and status 1."""
    try:
        app()
    except Exception as error:
        from gateway.cli.faults import end_with

        end_with(error)
