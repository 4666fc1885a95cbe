"""How much one principal may do: calls and bytes in a minute, counted by `limits`, and queries at a time.

Counts nothing for whom no role caps. In the memory of this process, or in Redis, where all replicas count as one.
"""

import secrets
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from math import ceil
from time import time
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from limits import RateLimitItemPerMinute
from limits.aio.storage import MemoryStorage, MovingWindowSupport, Storage
from limits.aio.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter
from limits.errors import ConfigurationError, StorageError
from limits.storage import storage_from_string

from engine.policy import Caps
from engine.query import ByteQuota
from gateway.errors import QuotaReached, StoreDown

if TYPE_CHECKING:
    from redis.asyncio import Redis

_WINDOW_S = 60
_SLOT_FREE_S = 1  # queries take seconds at most; nobody knows which one ends first
_STORE_BACK_S = 5
_REDIS_PATIENCE_S = 1.0
_LEASE_SLACK_S = 30  # what an answer needs beyond its time budget; a replica that died holds its slots so long
_REDIS = "async+redis"


@dataclass
class QuotaStoreUnusable(Exception):
    """The setting names no store that counts can be kept in."""

    detail: str


class Slots(Protocol):
    """Who runs how many queries at a time. Raises StoreDown where that cannot be told."""

    async def take(self, who: str, *, most: int, lease_s: float) -> str | None:
        """A slot; None where `most` are taken. One that is not given back is free again after `lease_s`."""

    async def give_back(self, who: str, slot: str) -> None: ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class Quotas:
    """Every method raises StoreDown where counts cannot be kept: then nobody passes."""

    storage: Storage
    slots: Slots

    async def call(self, principal_id: str, caps: Caps) -> None:
        """Counts one call. Raises QuotaReached, then it is not counted."""
        if caps.calls_per_minute is None:
            return
        assert isinstance(self.storage, MovingWindowSupport)
        limiter, item = MovingWindowRateLimiter(self.storage), RateLimitItemPerMinute(caps.calls_per_minute)
        with _reaching_the_store():
            if await limiter.hit(item, "calls", _key(principal_id)):
                return
            window = await limiter.get_window_stats(item, "calls", _key(principal_id))
        raise QuotaReached("calls", caps.calls_per_minute, _seconds_until(window.reset_time))

    @asynccontextmanager
    async def query(self, principal_id: str, caps: Caps) -> AsyncIterator[ByteQuota | None]:
        """Holds a slot, and says what may still leave. None: any number of bytes.

        Raises QuotaReached where no slot is free or no byte is left.
        """
        if caps.concurrent is None:
            yield await self.left(principal_id, caps)
            return
        who = _key(principal_id)
        slot = await self.slots.take(who, most=caps.concurrent, lease_s=caps.time_ms / 1000 + _LEASE_SLACK_S)
        if slot is None:
            raise QuotaReached("concurrent", caps.concurrent, _SLOT_FREE_S)
        try:
            yield await self.left(principal_id, caps)
        finally:
            with anyio.CancelScope(shield=True):
                await self.slots.give_back(who, slot)

    async def left(self, principal_id: str, caps: Caps) -> ByteQuota | None:
        """What may leave before the window ends. None: any number of bytes. Raises QuotaReached where none is left."""
        if caps.bytes_per_minute is None:
            return None
        item = RateLimitItemPerMinute(caps.bytes_per_minute)
        with _reaching_the_store():
            window = await FixedWindowRateLimiter(self.storage).get_window_stats(item, "bytes", _key(principal_id))
        untouched = window.remaining == caps.bytes_per_minute  # then the window begins with what is spent
        seconds = _WINDOW_S if untouched else _seconds_until(window.reset_time)
        if not window.remaining:
            raise QuotaReached("bytes", caps.bytes_per_minute, seconds)
        return ByteQuota(window.remaining, caps.bytes_per_minute, seconds)

    async def spend(self, principal_id: str, caps: Caps, count: int) -> None:
        """Takes the bytes of an answer off what is left. An answer that is on its way is never stopped for it."""
        if caps.bytes_per_minute is not None and count:
            item = RateLimitItemPerMinute(caps.bytes_per_minute)
            with _reaching_the_store():
                await FixedWindowRateLimiter(self.storage).hit(item, "bytes", _key(principal_id), cost=count)

    async def close(self) -> None:
        await self.slots.close()


def open_quotas(url: str) -> Quotas:
    """`url` empty: counts of this process alone; else async+redis://…, which is first reached when something counts.

    Raises QuotaStoreUnusable.
    """
    if not url:
        return Quotas(MemoryStorage(), MemorySlots())
    if not url.startswith((f"{_REDIS}://", f"{_REDIS}s://", f"{_REDIS}+unix://")):
        raise QuotaStoreUnusable("it is no url of the kind async+redis://HOST:PORT")
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as error:
        raise QuotaStoreUnusable("the Redis client is missing; pip install 'sanbu[redis]'") from error
    # Its own retries would hide for seconds that the server is gone.
    options: dict[str, Any] = {
        "socket_timeout": _REDIS_PATIENCE_S,
        "socket_connect_timeout": _REDIS_PATIENCE_S,
        "retry": Retry(NoBackoff(), 0),
    }
    try:
        client = Redis.from_url(url.removeprefix("async+").replace("redis+unix", "unix"), **options)
        pooled: dict[str, Any] = {"implementation": "redispy", "connection_pool": client.connection_pool}
        storage = storage_from_string(url, wrap_exceptions=True, **pooled)
    except (ConfigurationError, ValueError) as error:  # its text may hold the password
        raise QuotaStoreUnusable("its url cannot be read") from error
    assert isinstance(storage, Storage)
    return Quotas(storage, RedisSlots(client))


class MemorySlots:
    """Of this process alone, which gives back what it takes: leases are not looked at."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    async def take(self, who: str, *, most: int, lease_s: float) -> str | None:
        if self._taken[who] >= most:
            return None
        self._taken[who] += 1
        return who

    async def give_back(self, who: str, slot: str) -> None:
        self._taken[who] -= 1
        if not self._taken[who]:
            del self._taken[who]

    async def close(self) -> None:
        pass


# A sorted set for each principal: slots by the time when their lease ends, on Redis' own clock.
_TAKE = """
local now = redis.call('TIME')
local at = now[1] * 1000 + math.floor(now[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', at)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], at + ARGV[2], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
"""


class RedisSlots:
    """Of all replicas together."""

    def __init__(self, client: "Redis") -> None:
        self._client = client
        self._take = client.register_script(_TAKE)

    async def take(self, who: str, *, most: int, lease_s: float) -> str | None:
        slot = secrets.token_hex(8)
        with _reaching_redis():
            taken = await self._take(keys=[_slots_of(who)], args=[most, ceil(lease_s * 1000), slot])
        return slot if taken else None

    async def give_back(self, who: str, slot: str) -> None:
        with _reaching_redis():
            await self._client.zrem(_slots_of(who), slot)

    async def close(self) -> None:
        await self._client.aclose(close_connection_pool=True)


def _slots_of(who: str) -> str:
    return f"sanbu:slots:{who}"


def _key(principal_id: str) -> str:
    """No id is told to the store, and none can pass for another by what stands in it."""
    return sha256(principal_id.encode()).hexdigest()[:32]


def _seconds_until(moment: float) -> int:
    return max(1, ceil(moment - time()))


@contextmanager
def _reaching_the_store() -> Iterator[None]:
    try:
        yield
    except StorageError as error:
        raise StoreDown("quotas", _STORE_BACK_S) from error


@contextmanager
def _reaching_redis() -> Iterator[None]:
    from redis.exceptions import RedisError

    try:
        yield
    except (RedisError, OSError) as error:
        raise StoreDown("quotas", _STORE_BACK_S) from error


def _memory_conforms(it: MemorySlots) -> Slots:
    return it


def _redis_conforms(it: RedisSlots) -> Slots:
    return it
