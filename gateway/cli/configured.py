"""The settings of one command: what the command line says over the environment over a .env file."""

from collections.abc import Mapping

from pydantic import ValidationError

from gateway.cli.faults import Failure
from gateway.settings import PREFIX, Settings


def settings_from(given: Mapping[str, object]) -> Settings:
    """`given`: options by the names of their settings; None for one that was left out.

    Raises Failure, which calls a setting as it was set: --port, or SANBU_PORT.
    """
    options = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings.model_validate(options)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = str(first["loc"][0])
        called = f"--{name.replace('_', '-')}" if name in options else f"{PREFIX}{name.upper()}"
        raise Failure(f"{called}: {first['msg'].removeprefix('Value error, ')}") from error
