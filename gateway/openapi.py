"""The OpenAPI 3.1 document of the JSON endpoints."""

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from gateway.arguments import QueryArguments, VerifyArguments, input_schema
from gateway.hardening import REFUSED
from gateway.links import MEDIA_TYPES
from gateway.present.link import RESULTS
from gateway.tools import TOOLS
from gateway.verdicts import REFUSALS

VERIFY = "/evidence/verify"

STATUS: Mapping[str, int] = {
    "not_permitted": 403,
    "unknown_scene": 404,
    "session_not_found": 404,
    "session_expired": 410,
    "step_out_of_order": 409,
    "cursor_invalid": 409,
    "busy": 429,
    "internal": 500,
    "source_unavailable": 503,
    "time_budget_exceeded": 504,
}
"""Codes that are not simply a bad request (400)."""

_VERIFY_DESCRIPTION = (
    "For whoever acts on rows: whether the answer that the evidence came with named them, and whether that was all."
)
_QUERY_DESCRIPTION = "A person's query on a dataset: the same engine under the same permissions as apiCall."


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 document of the endpoints under /v1 and /evidence."""
    problem = {
        "description": "what is wrong, and what to do next",
        "content": {"application/json": {"schema": _PROBLEM}},
    }
    paths = {
        f"/v1/{name}": _operation(name, description, taken, given, problem) for name, description, taken, given in TOOLS
    }
    answer = TOOLS[-1][3]
    paths["/v1/query"] = _operation("query", _QUERY_DESCRIPTION, input_schema(QueryArguments), answer, problem)
    taken = input_schema(VerifyArguments)
    paths[VERIFY] = _operation("verifyEvidence", _VERIFY_DESCRIPTION, taken, _VERDICT, problem)
    paths[RESULTS] = {"get": _RESULT_OPERATION}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sanbu data gateway", "version": version("sanbu"), "license": {"name": "Apache-2.0"}},
        "paths": paths,
        # Whether a token is needed is the operator's choice.
        "security": [{}, {"bearer": []}],
        "components": {"securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(
    name: str, description: str, taken: Mapping[str, Any], given: Mapping[str, Any], problem: Mapping[str, Any]
) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": taken}}}
    answer = {"description": "the answer", "content": {"application/json": {"schema": given}}}
    codes = sorted({400, *REFUSED, *STATUS.values()})
    return {
        "post": {
            "operationId": name,
            "description": description,
            "requestBody": body,
            "responses": {"200": answer, **{str(code): problem for code in codes}},
        }
    }


_VERDICT: Mapping[str, Any] = {
    "type": "object",
    "required": ["verified", "refusals"],
    "properties": {
        "verified": {"type": "boolean"},
        "language": {"type": "string", "enum": ["zh", "en"]},
        "refusals": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "message", "suggestion"],
                "properties": {
                    "code": {"type": "string", "enum": list(REFUSALS)},
                    "message": {"type": "string"},
                    "suggestion": {"type": "string"},
                    "ids": {"type": "array"},
                },
            },
        },
        "complete": {"type": "boolean"},
        "reasons": {"type": "array", "items": {"type": "object"}},
        "asked": {"type": "object"},
        "scope": {"type": "object"},
        "snapshot": {"type": "object"},
        "named": {"type": "integer"},
        "first": {"type": "array", "items": {"type": "object"}},
        "verifiableUntil": {"type": "string"},
        "recheck": {"type": "object"},
    },
}

_RESULT_OPERATION: Mapping[str, Any] = {
    "operationId": "result",
    "description": "All frozen rows of an answer of several pages, from its links: ends in .parquet, .csv or .arrow.",
    "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
    "responses": {
        "200": {
            "description": "the file; the header Sanbu-Complete says whether it is complete, Sanbu-Reasons why not",
            "content": {media_type: {} for media_type in MEDIA_TYPES},
        },
        "404": {"description": "unknown, altered, expired, another caller's, or no longer permitted"},
        "413": {"description": "larger than all that the caller may have in a minute: fetch its pages"},
        "429": {"description": "larger than what is left of the caller's quota; Retry-After says until when"},
    },
}

_PROBLEM: Mapping[str, Any] = {
    "type": "object",
    "required": ["error", "reason", "suggestion", "retryable", "traceId"],
    "properties": {
        "error": {"type": "string"},
        "field": {},
        "received": {},
        "reason": {"type": "string"},
        "suggestion": {"type": "string"},
        "legalValues": {"type": "array"},
        "retryable": {"type": "boolean"},
        "retryAfterSeconds": {"type": "integer"},
        "traceId": {"type": "string"},
    },
}
