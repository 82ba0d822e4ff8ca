"""Damage the samples at random, for minutes, and check each with all rules.

    python -m tests.fuzz --minutes 30 --jobs 2      a campaign
    python -m tests.fuzz --again SEED:NUMBER        one input again, in this process

Whatever the damage, a check ends in a report or in a `PacklintError`. Anything else is printed with the name
of its input: another exception, a crash of the interpreter, a hang, or memory beyond the limit.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

import packlint
from packlint.errors import PacklintError
from tests.fuzz.damage import damage

SAMPLES = Path(__file__).parents[1] / "samples"
SECONDS_PER_INPUT = 30
BYTES_OF_MEMORY = 4 << 30


def main() -> None:
    """Run a campaign, a worker of one, or a single input."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", metavar="SEED:NUMBER")
    parser.add_argument("--worker", metavar="SEED:FIRST", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.again:
        seed, number = map(int, options.again.split(":"))
        print(outcome(seed, number, catch=False))
    elif options.worker:
        seed, number = map(int, options.worker.split(":"))
        work(seed, number, time.time() + 60 * options.minutes)
    else:
        campaign(options.minutes, options.jobs, options.seed)


def campaign(minutes: float, jobs: int, seed: int) -> None:
    """Start workers, start them again after a crash, and add up what they print."""
    end = time.time() + 60 * minutes
    counts: Counter[str] = Counter()
    firsts = dict.fromkeys(range(seed, seed + jobs), 0)
    while time.time() < end:
        running = {s: _start(s, first, end) for s, first in firsts.items()}
        for worker_seed, process in running.items():
            lines = process.communicate()[0].splitlines()
            counts.update(line.split("\t")[1] for line in lines)
            last = int(lines[-1].split("\t")[0]) if lines else firsts[worker_seed] - 1
            firsts[worker_seed] = last + 2
            for line in lines:
                if line.split("\t")[1] == "FAILED":
                    print(f"--again {worker_seed}:{line}", flush=True)
            if process.returncode not in (0, None):
                counts["CRASHED"] += 1
                print(f"--again {worker_seed}:{last + 1}\tcrashed with {process.returncode}", flush=True)
        print(f"{sum(counts.values()):,} inputs: {dict(sorted(counts.items()))}", flush=True)


def _start(seed: int, first: int, end: float) -> subprocess.Popen[str]:
    minutes = max(0.0, min(5.0, (end - time.time()) / 60))
    command = [sys.executable, "-m", "tests.fuzz", "--worker", f"{seed}:{first}", "--minutes", str(minutes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def work(seed: int, first: int, until: float) -> None:
    """Check inputs one after another and print a line for each."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES_OF_MEMORY, BYTES_OF_MEMORY))
    number = first
    while time.time() < until:
        signal.alarm(SECONDS_PER_INPUT)
        print(number, outcome(seed, number), sep="\t", flush=True)
        number += 1


def outcome(seed: int, number: int, *, catch: bool = True) -> str:
    """Return what became of one input: the worst finding, a refusal, or a failure with its place."""
    rng = np.random.default_rng([seed, number])
    names = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir() and path.name != "_tokenizer")
    name = names[rng.integers(len(names))]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / name
        shutil.copytree(SAMPLES / name, copy)
        damage(copy, rng)
        spec = {"eos_ids": [2], "bos_id": 1, "vocab_size": 400, "token_dtype": "uint16"}
        if rng.integers(2):
            spec["max_seq_len"] = int(rng.integers(1, 200))
        try:
            report = packlint.check(copy, spec=spec)
        except PacklintError:
            return "refused"
        except Exception as error:
            if not catch:
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(place.filename).name}:{place.lineno}"
            return f"FAILED\t{name}\t{type(error).__name__}: {error} at {where}"
    if report.internal_errors:
        return f"FAILED\t{name}\t{report.internal_errors[0]}"
    report.to_json()
    unread = any(f.code.startswith("SHD") or f.code == "MAN003" for f in report.findings)
    return "damage seen" if unread else "read"


if __name__ == "__main__":
    main()
