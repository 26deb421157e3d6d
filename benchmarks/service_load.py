"""Load on the service over loopback: rates, waiting times, the share of the engine's own speed.

usage: python benchmarks/service_load.py [--seconds S] [--clients 1 8 32] [--soak S]

Each client sends the RAG check of rag_check.py (five sentences, four documents of 120 words), with
texts of its own every time, and waits for the answer before it sends the next. The same checks go
to the engine directly first and last, 32 at a time in one `validate_batch`; the ratio is to the
mean of the two. The service runs in a process of its own; the clients share the machine with it,
as the direct calls do not. --soak keeps 8 clients at it for so many seconds, one request in ten
malformed, and reads the service's memory all the while.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from machine import describe_machine
from rag_check import rag_check

import caco

BATCH = 32
SOAK_CLIENTS = 8
WARM_UP_SHARE = 0.2
MALFORMED: tuple[tuple[bytes, int], ...] = (
    (b"{", 422),
    (b'{"response": "x"}', 422),
    (b'{"response": "", "context": "x"}', 422),
    (b'{"response": "x", "context": [{"id": 1}], "threshold": 7}', 422),
    (b"[" * 50_000, 422),
    (b'{"response": "\\ud800", "context": ""}', 422),
    (b" " * 1_200_000, 413),
)
SERVE = (
    "import sys; from caco.service import ServiceSettings, serve;"
    "serve(ServiceSettings(receipts=lambda receipt: None, timeout_s=300), port=0,"
    " on_ready=lambda address: print(address, flush=True))"
)


@dataclass
class Tally:
    """What a run of clients saw."""

    seconds: list[float] = field(default_factory=list)
    malformed: int = 0
    wrong: list[str] = field(default_factory=list)
    elapsed: float = 0.0
    memory: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True)
class Service:
    """A service in a process of its own."""

    port: int
    process: int

    def memory(self) -> float:
        """Return its resident memory in MiB."""
        status = Path(f"/proc/{self.process}/status").read_text(encoding="ascii")
        match = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert match is not None
        return int(match[1]) / 1024


@contextmanager
def service() -> Iterator[Service]:
    """Start the service and stop it at the end."""
    process = subprocess.Popen([sys.executable, "-c", SERVE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Service(int(process.stdout.readline().rpartition(":")[2]), process.pid)
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def body(seed: int) -> bytes:
    """Return the request for one check."""
    answer, documents = rag_check(seed)
    return json.dumps({"response": answer, "context": documents}).encode()


class Client:
    """One keep-alive connection; only as much HTTP as the service's answers need."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def post(self, content: bytes) -> tuple[int, bytes]:
        """Send one request to /validate; return the answer's status and body."""
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        head = (
            "POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        self._writer.write(head.encode("ascii") + content)
        await self._writer.drain()
        answer = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", answer, re.IGNORECASE)
        assert length is not None, answer
        found = await self._reader.readexactly(int(length[1]))
        if re.search(r"connection: close", answer, re.IGNORECASE):
            await self.close()
        return int(answer.split()[1]), found

    async def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
            await self._writer.wait_closed()
        self._reader = self._writer = None


async def drive(target: Service, clients: int, seconds: float, *, malformed: bool) -> Tally:
    """Keep so many clients busy for so long."""
    tally, seeds = Tally(), count(random.Random(clients).randrange(10**9))
    began = time.perf_counter()
    end = began + seconds

    async def one(number: int) -> None:
        rng, client = random.Random(number), Client(target.port)
        while time.perf_counter() < end:
            if malformed and rng.random() < 0.1:
                content, expected = rng.choice(MALFORMED)
                status, _ = await client.post(content)
                tally.malformed += 1
            else:
                content, expected = body(next(seeds)), 200
                started = time.perf_counter()
                status, _ = await client.post(content)
                if status == 200:
                    tally.seconds.append(time.perf_counter() - started)
            if status != expected:
                tally.wrong.append(f"{status} instead of {expected}")
        await client.close()

    async def watch() -> None:
        while time.perf_counter() < end:
            tally.memory.append((end - time.perf_counter(), target.memory()))
            await asyncio.sleep(min(2.0, seconds / 20))

    await asyncio.gather(watch(), *(one(number) for number in range(clients)))
    tally.elapsed = time.perf_counter() - began
    return tally


def direct_rate(seconds: float, first_seed: int) -> float:
    """Return the checks per second of the engine called in batches."""
    validator = caco.Validator()
    validator.preload()
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        seeds = range(first_seed + done, first_seed + done + BATCH)
        validator.validate_batch([rag_check(seed) for seed in seeds])
        done += BATCH
    return done / (time.perf_counter() - started)


def percentile(values: list[float], share: float) -> float:
    """Return the value that so large a share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def print_soak(tally: Tally, seconds: float) -> bool:
    """Print what the long run saw; True if it went well."""
    warm = [memory for left, memory in tally.memory if left < seconds * (1 - WARM_UP_SHARE)]
    tenth = max(1, len(warm) // 10)
    before, after = statistics.median(warm[:tenth]), statistics.median(warm[-tenth:])
    growth = after / before - 1
    print(
        f"soak: {len(tally.seconds)} checks and {tally.malformed} malformed requests in "
        f"{seconds:g} s, {len(tally.wrong)} unexpected answers {sorted(set(tally.wrong))}; "
        f"memory after warm-up {before:.0f} MiB, at the end {after:.0f} MiB ({growth:+.1%})"
    )
    return not tally.wrong and growth <= 0.05


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20.0, help="for each number of clients")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--soak", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    print(describe_machine("fastapi", "uvicorn"))
    print(f"load on the machine before: {os.getloadavg()[0]:.1f}")
    first = direct_rate(options.seconds, 0)
    rows, good = [], True
    with service() as target:
        asyncio.run(drive(target, 1, 2.0, malformed=False))
        for clients in options.clients:
            tally = asyncio.run(drive(target, clients, options.seconds, malformed=False))
            rows.append((clients, tally))
            good = good and not tally.wrong
        if options.soak:
            tally = asyncio.run(drive(target, SOAK_CLIENTS, options.soak, malformed=True))
            good = print_soak(tally, options.soak) and good
    last = direct_rate(options.seconds, 10**6)
    direct = (first + last) / 2
    print(f"engine, batches of {BATCH}: {first:.1f} and {last:.1f} checks/s")
    print("clients  requests/s  p50 ms  p95 ms  ratio to the engine")
    for clients, tally in rows:
        rate = len(tally.seconds) / tally.elapsed
        p50, p95 = (percentile(tally.seconds, share) * 1000 for share in (0.50, 0.95))
        print(f"{clients:7d}  {rate:10.1f}  {p50:6.0f}  {p95:6.0f}  {rate / direct:19.2f}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
