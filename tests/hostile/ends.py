"""What happens in the middle of something, at any operation of its disk: SIGKILL, the loss of power, where what was not synced is there or not, or a disk that is full."""

import collections
import contextlib
import errno
import http.client
import re
import signal
import subprocess
import threading

from faults import CHANGES, DELETE, FAIL, FILL, FOR_EVER, KILL, OPERATION_NAMES, POWER_LOSS, SQLITE_FULL, SYNC, WRITE, FaultyServer
from smserver import wait_until

OPERATIONS, RARE = (*CHANGES, DELETE), (SYNC, DELETE)
UNTOLD_ONE_IN = 10  # what is written later, by itself, need not be told; none was in some 60 tries
SAYS_FULL = re.compile("disk is full|No space left")


class Ends:
    """measure() once, and then during() again and again."""

    kind = FaultyServer

    def __init__(self, fight):
        self.fight, self.disk = fight, fight.server.disk
        self.at = collections.Counter()

    def measure(self, phase):
        before = [self.disk.count_of(operation) for operation in OPERATIONS]
        phase()
        counts = {operation: self.disk.count_of(operation) - was for operation, was in zip(OPERATIONS, before)}
        self.most = {operations: sum(counts[operation] for operation in operations) for operations in (OPERATIONS, RARE, (WRITE,))}

    def is_over(self):
        """Its process has ended, and not well."""
        return self.fight.server.process is not None and self.fight.server.process.poll() not in (None, 0)

    def heard(self, text):
        """What a command said when it failed."""

    def check_end(self):
        """Where it is over, the disk ended it: a fault of the server's own is no kill of ours."""
        server = self.fight.server
        if self.is_over():
            code = server.wait()
            assert code == -signal.SIGKILL and self.disk.get("failed"), f"the server ended by itself, with {code}:\n{server.log_text()}"

    def count(self):
        """After its end, or that of the phase."""
        self.at[OPERATION_NAMES[self.disk.get("failed_operation")] if self.disk.get("failed") else None] += 1
        self.disk.mend()

    def during(self, begin, whole):
        """Whether it was begun: the server had said so."""
        is_begun = False
        operations = self.fight.chance.choice((OPERATIONS, RARE))  # of a thousand writes one is like another
        self.arm(self.fight.chance.randrange(1, self.most[operations] + 3), operations)
        try:
            begin()
            is_begun = True
            wait_until(lambda: self.is_over() or whole(), what="the end, or that of the phase")
        except (AssertionError, OSError, http.client.HTTPException):
            with contextlib.suppress(subprocess.TimeoutExpired):  # whose end it hears of before we do
                self.fight.server.process.wait(5)
            if not self.is_over():
                raise
        self.check_end()
        self.fight.server.kill()
        self.count()
        return is_begun

    def during_repair(self):
        self.arm(self.fight.chance.randrange(1, 40))
        self.fight.server.launch()
        wait_until(lambda: self.is_over() or any("event=listening" in line for line in self.fight.server.log), what="the end, or that of the start")
        self.check_end()
        self.fight.server.kill()
        self.count()

    def figure(self):
        places = ", ".join(f"{count} at a {name}" if name else f"{count} after it" for name, count in self.at.most_common())
        return f"{sum(self.at.values())} {self.noun}: {places}"


class Kills(Ends):
    noun = "kills"

    def arm(self, number, operations=OPERATIONS):
        self.disk.arm(number, operations, action=KILL, torn_bytes=self.fight.chance.choice((0, 0, 512, 1000)))


class PowerLosses(Ends):
    noun = "losses"

    def __init__(self, fight):
        super().__init__(fight)
        self.sums = collections.Counter()

    def arm(self, number, operations=OPERATIONS):
        chance = self.fight.chance
        drawn = {"keep": chance.choice((0, 100, 500, 500, 900, 1000)), "sector_bytes": chance.choice((512, 4096)), "seed": chance.randrange(1, 1 << 40)}
        self.disk.arm(number, operations, action=POWER_LOSS, **drawn)

    def count(self):
        """What was lost is in the disk's figures."""
        if self.disk.get("failed"):
            for name in ("kept_sectors", "lost_sectors", "empty_sectors", "lost_names"):
                self.sums[name] += self.disk.get(name)
            self.sums["other_lengths"] += self.disk.get("lost_bytes_of_length") > 0
        super().count()

    def figure(self):
        return f"{super().figure()}; sectors kept {self.sums['kept_sectors']}, lost {self.sums['lost_sectors']}, without their bytes " \
            f"{self.sums['empty_sectors']}; names lost {self.sums['lost_names']}; files of another length {self.sums['other_lengths']}"


class ThinServer(FaultyServer):
    """It remembers whom it refused because of its disk."""

    def __init__(self, *arguments, **options):
        self.refusals = []
        super().__init__(*arguments, **options)

    def request(self, *arguments, **options):
        reply = super().request(*arguments, **options)
        if reply.status >= 500:
            self.refusals.append(reply)
        return reply


class Fills(Ends):
    """Nothing is written from some write on, until somebody has been told: whoever asked, or the log. Then there is room again, and the phase goes on, without a new start where the
    server is still there."""

    noun, kind = "times full", ThinServer

    def __init__(self, fight):
        super().__init__(fight)
        self.said, self.untold, self.is_settled = [], 0, threading.Event()
        self.left, self.met = [], set()

    def arm(self, number):
        self.disk.arm(number, (WRITE,), count=FOR_EVER, action=FILL, code=SQLITE_FULL, cause=errno.ENOSPC)

    def measure(self, phase):
        self.disk.set(mask=0, action=FILL)  # the server's own files count
        super().measure(phase)
        self.disk.set(action=FAIL)

    def next_write(self):
        """Each of them once before one comes again."""
        if not self.left:
            self.left = list(range(1, self.most[WRITE,] + 1))
            self.fight.chance.shuffle(self.left)
        return self.left.pop()

    def heard(self, text):
        if SAYS_FULL.search(text):
            self.said.append(text)

    def is_told(self):
        server = self.fight.server
        return bool(self.said or server.refusals or SAYS_FULL.search(server.log_text()))

    def make_room(self):
        """Also where nobody was told in the end: what was to be written then is written later, by itself."""
        while not self.is_settled.wait(0.01):
            if self.disk.get("failed") and self.is_told():
                break
        self.disk.mend()

    def check_refusals(self):
        server = self.fight.server
        for reply in server.refusals:
            assert reply.status in (503, 507) and SAYS_FULL.search(str(reply.body)) and str(server.database) in str(reply.body), reply
            assert int(reply.headers["Retry-After"]) > 0, reply

    @contextlib.contextmanager
    def room_in_time(self):
        self.fight.server.refusals.clear()
        self.said.clear()
        self.is_settled.clear()
        room = threading.Thread(target=self.make_room)
        room.start()
        try:
            yield
        finally:
            self.is_settled.set()
            room.join()

    def take_end(self):
        """Of a start, or of another command, that could not."""
        server = self.fight.server
        code = server.wait()
        server.process = None
        server.assert_clean()
        assert code > 0 and SAYS_FULL.search(server.log_text()), (code, server.log_text())
        self.said.append(server.log_text())

    def end(self):
        server = self.fight.server
        if server.process.poll() is None:
            server.stop()
        else:
            server.wait()
            server.process = None

    def during(self, begin, whole):
        is_begun = False

        def goes_on():
            nonlocal is_begun
            if self.is_over():
                self.take_end()
                is_begun = False
            if not is_begun:
                begin()
                is_begun = True
            return whole()

        number = self.next_write()
        self.arm(number)
        with self.room_in_time():
            wait_until(goes_on, what="the end of the phase")
            if self.disk.get("failed"):
                self.met.add(number)
                self.untold += not self.is_told()
                assert self.untold <= 1 + len(self.met) // UNTOLD_ONE_IN, f"the disk was full, and nobody was told: {self.untold} times of {len(self.met)}; the last log:\n" \
                    f"{self.fight.server.log_text()}"
        self.check_refusals()
        self.end()
        self.count()
        return is_begun

    def during_repair(self):
        self.arm(self.fight.chance.randrange(1, 40))
        self.fight.server.launch()
        wait_until(lambda: self.is_over() or any("event=listening" in line for line in self.fight.server.log), what="the end, or that of the start")
        self.disk.mend()
        if self.is_over():
            self.take_end()
        else:
            self.end()
        self.count()

    def figure(self):
        return f"{super().figure()}; {len(self.met)} of its {self.most[WRITE,]} writes; {self.untold} of which nobody was told"
