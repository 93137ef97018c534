"""Kill `innerloop run` at random moments, resume it each time, and check that nothing is lost.

    python benchmarks/kill_and_resume.py --kills 50

The target writes every value that it returns to a file of its own. At the end every value in the
study must be one of these, every trial must be finished, and what was told before a kill must be
there after it, unchanged.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INNERLOOP = (sys.executable, "-m", "innerloop.cli.main")
SPACE = '[x]\ntype = "real"\nlow = 0\nhigh = 1\n\n[y]\ntype = "real"\nlow = 0\nhigh = 1\n'
TARGET = """\
import os, time

def loss(params):
    time.sleep(0.05)
    value = (params["x"] - 0.3) ** 2 + (params["y"] - 0.6) ** 2
    with open("evaluated.txt", "a") as file:
        file.write(f"{params['x']!r} {params['y']!r} {value!r}\\n")
    return value
"""


def trials(folder: Path) -> list[dict]:
    """The trials of the study, or none if there is no study yet."""
    listed = subprocess.run(
        [*INNERLOOP, "trials", "-f", "json"], cwd=folder, capture_output=True, text=True
    )
    return json.loads(listed.stdout) if listed.returncode == 0 else []


def complete(records: list[dict]) -> dict[int, tuple[float, float, float]]:
    """What was told, by trial."""
    return {
        r["id"]: (r["params"]["x"], r["params"]["y"], r["value"])
        for r in records
        if r["state"] == "complete"
    }


def check(before: dict, after: dict) -> None:
    """Refuse that anything told has changed or gone."""
    for number, told in before.items():
        if after.get(number) != told:
            raise SystemExit(f"trial {number} was {told} and is now {after.get(number)}")


def evaluated(folder: Path) -> list[str]:
    """A line for every value that the target has returned."""
    file = folder / "evaluated.txt"
    return file.read_text().splitlines() if file.exists() else []


def wait_for(folder: Path, values: int, process: subprocess.Popen) -> None:
    """Wait until there are so many more values, or the run has ended."""
    enough = len(evaluated(folder)) + values
    while len(evaluated(folder)) < enough and process.poll() is None:
        time.sleep(0.01)


def kill_and_resume(folder: Path, *, kills: int, total: int, seed: int) -> list[dict]:
    """Trials of a study of `total` trials whose run was killed so many times."""
    (folder / "space.toml").write_text(SPACE)
    (folder / "target.py").write_text(TARGET)
    line = [*INNERLOOP, "run", "target.py:loss", "--space", "space.toml", "--seed", "0"]
    line += ["-n", str(total), "-p", "4"]
    moments, told, killed, midway = random.Random(seed), {}, 0, 0
    for _ in range(kills):
        process = subprocess.Popen(
            line, cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True
        )
        wait_for(folder, moments.randint(0, 12), process)
        time.sleep(moments.uniform(0.0, 0.3))
        if process.poll() is not None:
            print("the study was finished before it was killed: give more --trials")
            break
        killed += 1
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        midway += any(record["state"] == "running" for record in trials(folder))
        records = trials(folder)
        check(told, complete(records))
        told = complete(records)
    subprocess.run(line, cwd=folder, check=True, stderr=subprocess.DEVNULL)
    records = trials(folder)
    check(told, complete(records))
    verify(folder, records, total)
    print(f"{midway} of {killed} kills came while trials were running", flush=True)
    return records


def verify(folder: Path, records: list[dict], total: int) -> None:
    """Refuse a study with a value that nobody computed, an open trial or too few results."""
    returned = [tuple(map(float, line.split())) for line in evaluated(folder)]
    told = list(complete(records).values())
    running = [r["id"] for r in records if r["state"] == "running"]
    counted = [r for r in records if not r["lost"]]
    if len(counted) != total or len(told) != total:
        raise SystemExit(f"{len(told)} complete and {len(counted)} counted, expected {total}")
    if running:
        raise SystemExit(f"trials {running} are still running")
    strange = [values for values in told if values not in returned]
    if strange or len(set(told)) != len(told):
        raise SystemExit(f"values that nobody computed, or twice: {strange}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--trials", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total = options.trials or 20 * options.kills
    with tempfile.TemporaryDirectory() as folder:
        records = kill_and_resume(Path(folder), kills=options.kills, total=total, seed=options.seed)
    lost = sum(r["lost"] for r in records)
    print(f"{total} complete, {lost} lost with their workers, none running")


if __name__ == "__main__":
    main()
