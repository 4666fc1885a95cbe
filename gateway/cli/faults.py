"""What a person is told when a command cannot do what it should: one sentence, and what to do."""

import re
import sys

from engine.errors import EngineError, SourceUnavailable
from gateway.app import IdentityUnusable, ResolverUnavailable
from gateway.limits import QuotaStoreUnusable
from gateway.problems import problem_of
from gateway.settings import FolderUnusable, Settings, without_password
from gateway.tokens import TokensUnusable
from scene_kb.diagnostics import CatalogFault
from scene_kb.embedders.base import EmbedderUnavailable
from scene_kb.exchange import MalformedLine, UnknownLabel
from scene_kb.rerankers.base import RerankerUnavailable
from scene_kb.shipped import DataUnavailable
from sessions.stores.base import StoreUnavailable

_KIND_OF_FAULT = re.compile(r"^[A-Z][A-Za-z ]* Error: (?=\S)")  # DuckDB's, such as IO Error


class Failure(Exception):
    """A foreseen fault of the command line itself: its text is one sentence that says what to do."""


def end_with(error: Exception) -> None:
    """The error's sentence on stderr and status 1. What nobody foresaw is raised again and keeps its traceback."""
    sentence = sentence_for(error)
    if sentence is None:
        raise error
    sys.stderr.write(sentence + "\n")
    raise SystemExit(1)


def sentence_for(error: Exception) -> str | None:
    """What a person is told of an error from below; None where nobody foresaw it."""
    match error:
        case Failure():
            return str(error)
        case CatalogFault():
            return "\n".join(map(str, error.diagnostics))
        case EmbedderUnavailable() | RerankerUnavailable():
            return f"{error}. {error.remedy}"
        case DataUnavailable() | MalformedLine() | UnknownLabel():
            return str(error)
        case SourceUnavailable():
            return f"the source '{error.source}' cannot be read: {in_short(error.detail)}"
        case FolderUnusable():
            return f"{error.setting}: {error.folder} cannot be used: {error.detail}; set it to a folder of your own"
        case ResolverUnavailable():
            return (
                f"SANBU_RESOLVER: '{error.name}' cannot be loaded: {error.detail}; write MODULE:CLASS, such as"
                f" {Settings.model_fields['resolver'].default}"
            )
        case QuotaStoreUnusable():
            return f"SANBU_QUOTA_STORE: {error.detail}"
        case IdentityUnusable():
            return f"SANBU_{error.setting.upper()}: {error.detail}"
        case TokensUnusable():
            return f"the tokens in {error.path} cannot be used: {error.detail}"
        case StoreUnavailable():
            return f"the session store '{without_password(error.url)}' cannot be used: {error.detail}"
        case EngineError():
            problem = problem_of(error, "en")
            return f"{problem.field or problem.code}: {problem.reason}. {problem.suggestion}."
        case ExceptionGroup():  # what a server's task group was ended by
            sentences = [sentence_for(each) for each in error.exceptions]
            return None if None in sentences else "\n".join(dict.fromkeys(it for it in sentences if it))
    return None


def in_short(detail: str) -> str:
    """What a driver says first, without its name for the fault and the statement below it, which is ours alone."""
    first = detail.strip().partition("\n\n")[0].splitlines()[:2]
    return _KIND_OF_FAULT.sub("", ": ".join(line.strip(" .!") for line in first))
