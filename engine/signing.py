"""Short texts that only we can have written: signed by the newest of the keys, read with any, so that keys rotate."""

import hashlib
import hmac
from collections.abc import Sequence
from hmac import compare_digest

from itsdangerous import Signer

_SEPARATOR = "."


class Signatures:
    """`keys`: newest first. `salt` names the kind of text: none passes for one of another kind."""

    def __init__(self, keys: Sequence[str], *, salt: str) -> None:
        self._signers = [Signer(key.encode(), salt=salt, sep=_SEPARATOR, digest_method=hashlib.sha256) for key in keys]

    def sign(self, text: str) -> str:
        """Equal texts are signed alike."""
        return self._signers[0].sign(text).decode()

    def read(self, signed: str) -> str | None:
        """The text; None where the whole is not exactly what one of the keys signs."""
        given = signed.encode(errors="replace")
        text, _, _ = given.rpartition(_SEPARATOR.encode())
        for signer in self._signers:
            # Compared as text: a base64 signature has other spellings that decode alike.
            if compare_digest(signer.sign(text), given):
                return text.decode()
        return None


def secret_for(purpose: str, keys: Sequence[str]) -> str:
    """A secret of its own for that purpose, from the oldest key: it stays while newer ones are put before it."""
    return hmac.new(keys[-1].encode(), purpose.encode(), hashlib.sha256).hexdigest()
