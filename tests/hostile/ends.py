"""How a server ends in the middle of something: by SIGKILL at any moment of it, or with its power at any operation of its disk, and what was not synced is there or not."""

import collections
import contextlib
import http.client
import time

from faults import CHANGES, DELETE, OPERATION_NAMES, POWER_LOSS, SYNC, FaultyServer
from smserver import Server, wait_until

OPERATIONS, RARE = (*CHANGES, DELETE), (SYNC, DELETE)


class Kills:
    """measure() once, and then during() again and again."""

    kind = Server

    def __init__(self, fight):
        self.fight, self.count = fight, 0

    def measure(self, phase):
        began = time.monotonic()
        phase()
        self.takes = time.monotonic() - began

    def during(self, begin, _):
        """Whether it was begun: the server had said so."""
        ended = time.monotonic() + self.fight.chance.random() * self.takes * 1.1
        begin()
        while time.monotonic() < ended:
            time.sleep(max(0.0, min(0.001, ended - time.monotonic())))
        self.fight.server.kill()
        self.count += 1
        return True

    def during_repair(self):
        self.fight.server.launch()
        time.sleep(self.fight.chance.random() * 0.3)
        self.fight.server.kill()
        self.count += 1

    def figure(self):
        return f"{self.count} kills over {1000 * self.takes:.0f} ms of it"


class PowerLosses:
    kind = FaultyServer

    def __init__(self, fight):
        self.fight, self.disk = fight, fight.server.disk
        self.losses, self.sums = collections.Counter(), collections.Counter()

    def measure(self, phase):
        before = [self.disk.count_of(operation) for operation in OPERATIONS]
        phase()
        counts = {operation: self.disk.count_of(operation) - was for operation, was in zip(OPERATIONS, before)}
        self.most = {operations: sum(counts[operation] for operation in operations) for operations in (OPERATIONS, RARE)}

    def arm(self, number, operations=OPERATIONS):
        chance = self.fight.chance
        drawn = {"keep": chance.choice((0, 100, 500, 500, 900, 1000)), "sector_bytes": chance.choice((512, 4096)), "seed": chance.randrange(1, 1 << 40)}
        self.disk.arm(number, operations, action=POWER_LOSS, **drawn)

    def is_over(self):
        return self.fight.server.process.poll() is not None

    def count(self):
        """After its end, or that of the phase; what was lost is in the disk's figures."""
        if self.disk.get("failed"):
            self.losses[OPERATION_NAMES[self.disk.get("failed_operation")]] += 1
            for name in ("kept_sectors", "lost_sectors", "empty_sectors", "lost_names"):
                self.sums[name] += self.disk.get(name)
            self.sums["other_lengths"] += self.disk.get("lost_bytes_of_length") > 0
        else:
            self.losses["none"] += 1
        self.disk.mend()

    def during(self, begin, whole):
        is_begun = False
        operations = self.fight.chance.choice((OPERATIONS, RARE))  # of a thousand writes one is like another
        self.arm(self.fight.chance.randrange(1, self.most[operations] + 3), operations)
        try:
            with contextlib.suppress(OSError, http.client.HTTPException):
                begin()
                is_begun = True
                wait_until(lambda: self.is_over() or whole(), what="the end, or that of the phase")
        except AssertionError:
            if not self.is_over():
                raise
        self.fight.server.kill()
        self.count()
        return is_begun

    def during_repair(self):
        self.arm(self.fight.chance.randrange(1, 40))
        self.fight.server.launch()
        wait_until(lambda: self.is_over() or any("event=listening" in line for line in self.fight.server.log), what="the end, or that of the start")
        self.fight.server.kill()
        self.count()

    def figure(self):
        losses = ", ".join(f"{count} at a {name}" if name != "none" else f"{count} after it" for name, count in self.losses.most_common())
        return f"{sum(self.losses.values())} losses: {losses}; sectors kept {self.sums['kept_sectors']}, lost {self.sums['lost_sectors']}, without their bytes " \
            f"{self.sums['empty_sectors']}; names lost {self.sums['lost_names']}; files of another length {self.sums['other_lengths']}"
