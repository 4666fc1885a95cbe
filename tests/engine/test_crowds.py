"""Many calls at one time: they queue, they end by their own budgets, and what is cancelled leaves nothing behind."""

import os
import threading
from pathlib import Path
from time import monotonic

import anyio
import pytest

from engine.backends.base import Backend, open_backend
from engine.errors import Busy, TimeBudgetExceeded
from engine.query import Answer
from tests.engine import shop
from tests.engine.house import House, open_house
from tests.engine.test_backends import SLOW

pytestmark = pytest.mark.anyio


async def runaway(backend: Backend, timeout_s: float) -> None:
    try:
        await backend.fetch(SLOW[backend.dialect], {}, timeout_s=timeout_s)
    except (TimeBudgetExceeded, Busy):
        return


async def test_fifty_counts_at_one_time_queue_and_are_all_answered(house: House) -> None:
    """Case 21: each is another query, and the store takes four at a time."""
    answers: list[Answer] = []

    async def count(number: int) -> None:
        answers.append(await house.ask(("row_count",), {"units": {"ne": 1_000 + number}}, group_by=()))

    async with anyio.create_task_group() as group:
        for number in range(50):
            group.start_soon(count, number)
    assert len({answer.snapshot.id for answer in answers}) == 50
    assert {answer.page.rows for answer in answers} == {((len(shop.ROWS),),)}


async def test_a_count_that_finds_no_place_is_told_so_and_not_that_it_is_slow(house: House) -> None:
    """Cases 21 and 26: they want opposite things, to wait and to ask for less."""
    (backend,) = house.engine.backends.values()
    await house.ask(("order",))
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(runaway, backend, 60.0)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Busy):
            await house.ask(("row_count",), group_by=(), time_budget_ms=200)
        group.cancel_scope.cancel()
    with pytest.raises(TimeBudgetExceeded):
        await house.ask(("row_count",), group_by=("order", "note"), time_budget_ms=1)


async def test_a_store_can_be_closed_under_a_running_statement(shop_file: Path) -> None:
    backend = open_backend(f"duckdb:{shop_file}")
    async with anyio.create_task_group() as group:
        group.start_soon(runaway, backend, 60.0)
        await anyio.sleep(0.2)
        with anyio.fail_after(5):
            await backend.close()


async def test_calls_cancelled_while_the_store_is_opened_leave_nothing_behind(shop_file: Path) -> None:
    """Case 24: places, threads and open files are back, and the next call is as fast as any."""
    await open_house(shop.dataset(shop_file)).ask(("order",))  # what a process loads once is loaded
    open_files, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    backend = open_backend(f"duckdb:{shop_file}")
    for delay_us in range(0, 4_000, 200):
        with anyio.move_on_after(delay_us / 1e6):
            await backend.fetch(SLOW[backend.dialect], {}, timeout_s=60)
    started = monotonic()
    found = await backend.fetch(f"SELECT count(*) FROM {backend.relation(None)}", {}, timeout_s=5)
    assert monotonic() - started < 2
    assert found.to_pylist() == [{"count_star()": len(shop.ROWS)}]
    await backend.close()
    for _ in range(100):
        left = len(os.listdir("/proc/self/fd")) - open_files
        if left <= 0 and threading.active_count() <= threads + 4:  # a pool keeps a few of its threads for the next call
            return
        await anyio.sleep(0.02)
    pytest.fail(f"{left} more files are open, {threading.active_count() - threads} more threads are there")
