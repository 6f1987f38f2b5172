"""The fault campaign: break what can break, count what is lost. Ends with 1 if anything is.

python tests/faults/run.py                     # all of it, an hour or more
python tests/faults/run.py --short             # each in its short form, some minutes
python tests/faults/run.py --only kills,disks  # some
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
import traceback
from collections.abc import Callable

from archives import full_disk_at_restore, killed_pushes_and_restores, two_pushers
from clocks import clock_jumps
from damage import damaged_files
from disks import full_disk, read_only_disk, slow_disk
from floods import floods
from fuzz import api_fuzzing, mutated_events
from harness import Skip
from kills import kills, terminations
from limits import few_descriptors, little_memory
from power_cut import other_versions, power_cuts
from slow_readers import slow_readers

#: Name -> (the campaign, its argument in full, and in the short form).
CAMPAIGNS: dict[str, tuple[Callable[[int], list[str]], int, int]] = {
    "kills": (kills, 100, 4),
    "terminations": (terminations, 20, 2),
    "full-disk": (full_disk, 60, 20),
    "read-only-disk": (read_only_disk, 30, 10),
    "slow-disk": (slow_disk, 100, 10),
    "damage": (damaged_files, 10, 1),
    "archive-kills": (killed_pushes_and_restores, 20, 2),
    "archive-pushers": (two_pushers, 10, 1),
    "archive-full-disk": (full_disk_at_restore, 1, 1),
    "power-cut": (power_cuts, 30, 2),
    "versions": (other_versions, 1, 1),
    "memory": (little_memory, 60, 10),
    "descriptors": (few_descriptors, 400, 300),
    "floods": (floods, 60, 15),
    "slow-readers": (slow_readers, 100, 20),
    "clock": (clock_jumps, 400, 400),
    "events": (mutated_events, 1_000_000, 5_000),
    "api": (api_fuzzing, 100, 4),
}


def main() -> int:
    """Run the requested campaigns, print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="each campaign in its short form")
    parser.add_argument("--only", default=",".join(CAMPAIGNS), help="names of campaigns, by comma")
    parser.add_argument("--rounds", type=int, help="how much of each: see the table of campaigns")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that every started process is ended
    lost, lines = 0, []
    for name in args.only.split(","):
        campaign, whole, short = CAMPAIGNS[name]
        rounds = args.rounds or (short if args.short else whole)
        print(f"{name} ({rounds or 'all'})", flush=True)
        began = time.monotonic()
        try:
            faults = campaign(rounds)
            result = f"{len(faults)} faults"
        except Skip as reason:
            faults, result = [], f"skipped: {reason}"
        except Exception:  # a campaign that crashes is a fault; the others continue
            traceback.print_exc()
            faults, result = ["the campaign broke down"], "broke down"
        for fault in faults:
            print(f"  FAULT {fault}", flush=True)
        lost += len(faults)
        lines.append(f"{name:16} {time.monotonic() - began:6.0f} s  {result}")
    print("\n" + "\n".join(lines))
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
