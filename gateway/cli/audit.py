"""`sanbu audit`: the audit log's lines, as they were written."""

import sys
from datetime import datetime

from gateway.audit import AuditLog
from gateway.cli.faults import Failure
from gateway.settings import Settings


def run_export(settings: Settings, *, since: str | None) -> None:
    """Prints each line from `since` on. Raises Failure where that is no moment."""
    for line in AuditLog(settings.audit_file()).lines(since=_moment(since) if since else None):
        sys.stdout.write(line + "\n")


def _moment(text: str) -> datetime:
    """Without an offset it is of this machine's time zone; a day begins at midnight."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise Failure(f"--since {text}: write a day or a moment, such as 2026-11-29T08:00:00+08:00") from error
