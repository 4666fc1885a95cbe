"""An authorization server as far as a resource server sees it: keys that it publishes and rotates, and tokens."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from jwt.algorithms import ECAlgorithm

AUDIENCE = "https://sanbu.example/mcp"


class Authority:
    """Publishes at `address`, which is its issuer too, the public keys of all that it has rotated to."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.answers = True
        self.fetched = 0
        self._keys: list[EllipticCurvePrivateKey] = []
        self._kept: list[int] = []
        self.rotate()

    def rotate(self, *, keep: bool = True) -> None:
        """To a new key; tokens of the older ones hold on only where they are kept."""
        self._kept = [*(self._kept if keep else []), len(self._keys)]
        self._keys.append(generate_private_key(SECP256R1()))

    def published(self) -> dict[str, Any]:
        def jwk(at: int) -> dict[str, Any]:
            return {**json.loads(ECAlgorithm.to_jwk(self._keys[at].public_key())), "kid": f"k{at}", "use": "sig"}

        return {"keys": [jwk(at) for at in self._kept]}

    def token(self, *, key: int = -1, kid: str | None = None, **claims: Any) -> str:
        """Signed by the newest key, for anna as a clerk, for five minutes; a claim of None is left out."""
        at = key % len(self._keys)
        said = {
            "iss": self.address,
            "aud": AUDIENCE,
            "sub": "anna",
            "exp": int(time()) + 300,
            "roles": ["clerk"],
            **claims,
        }
        given = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(given, self._keys[at], algorithm="ES256", headers={"kid": kid or f"k{at}"})


@contextmanager
def authority() -> Iterator[Authority]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.fetched += 1
            body = json.dumps(made.published()).encode() if made.answers else b"gone fishing"
            self.send_response(200 if made.answers else 500)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = Authority(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
