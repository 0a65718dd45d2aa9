"""What happens in the middle of something, at any operation of its disk: SIGKILL, the loss of power, where what was not synced is there or not, or a disk that is full."""

import collections
import contextlib
import errno
import http.client
import itertools
import re
import signal
import subprocess
import threading

from faults import CHANGES, CODES, DELETE, FAIL, FILL, FOR_EVER, KILL, OPERATION_NAMES, POWER_LOSS, SQLITE_FULL, SYNC, WRITE, FaultyServer
from smserver import wait_until

OPERATIONS, RARE = (*CHANGES, DELETE), (SYNC, DELETE)
UNTOLD_ONE_IN = 10  # what is written later, by itself, need not be told; none was in some 60 tries
SAYS_FULL = re.compile("disk is full|No space left")
SAYS_BROKEN = re.compile("Input/output error|disk I/O error")


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
        self.most = {operations: sum(counts[operation] for operation in operations) for operations in (OPERATIONS, RARE, *((one,) for one in OPERATIONS))}

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

    def request(self, method, path, *arguments, **options):
        reply = super().request(method, path, *arguments, **options)
        if reply.status >= 500:
            reply.asked = method, path
            self.refusals.append(reply)
        return reply


class Fills(Ends):
    """Nothing is written from some write on, until somebody has been told: whoever asked, or the log. Then there is room again, and the phase goes on, without a new start where the
    server is still there."""

    noun, kind = "times full", ThinServer
    says, statuses = SAYS_FULL, (503, 507)

    def __init__(self, fight):
        super().__init__(fight)
        self.said, self.untold, self.is_settled = [], 0, threading.Event()
        self.left, self.met, self.lines_before = [], set(), 0

    def arm(self, number):
        self.disk.arm(number, (WRITE,), count=FOR_EVER, action=FILL, code=SQLITE_FULL, cause=errno.ENOSPC)

    def measure(self, phase):
        self.disk.set(mask=0, action=FILL)  # the server's own files count
        super().measure(phase)
        self.disk.set(action=FAIL)

    def all_there_are(self):
        return list(range(1, self.most[WRITE,] + 1))

    def next_one(self):
        """Each of them once before one comes again."""
        if not self.left:
            self.left = self.all_there_are()
            self.fight.chance.shuffle(self.left)
        return self.left.pop()

    def heard(self, text):
        if self.says.search(text):
            self.said.append(text)

    def is_told(self):
        return bool(self.said or self.fight.server.refusals or self.is_logged())

    def is_logged(self):
        """Also where another process has begun its log meanwhile."""
        log = self.fight.server.log
        return any(self.says.search(line) for line in log[self.lines_before if self.lines_before <= len(log) else 0:])

    def make_room(self):
        """Also where nobody was told in the end: what was to be written then is written later, by itself."""
        while not self.is_settled.wait(0.01):
            if self.disk.get("failed") and self.is_told():
                break
        self.disk.mend()

    def check_refusals(self):
        server = self.fight.server
        for reply in server.refusals:
            assert reply.status in self.statuses and self.says.search(str(reply.body)) and str(server.database) in str(reply.body), (self.statuses, OPERATION_NAMES[self.disk.get("failed_operation")], reply.asked, reply)
            assert reply.status == 500 or int(reply.headers["Retry-After"]) > 0, reply

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
        if code <= 0 or not self.says.search(server.log_text()) or str(server.folder) not in server.log_text():
            raise ValueError(f"{code} at a {self.disk.get('failed_operation')}:\n{server.log_text()}")  # what is asserted is asked again
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

        with self.failing():
            wait_until(goes_on, what="the end of the phase")
        self.end()
        self.count()
        return is_begun

    @contextlib.contextmanager
    def failing(self):
        """Within it, the next one."""
        which = self.next_one()
        self.lines_before = len(self.fight.server.log)
        self.arm(which)
        with self.room_in_time():
            yield
            if self.disk.get("failed"):
                self.met.add(which)
                self.note_whether_told()
        self.check_refusals()

    def note_whether_told(self):
        self.untold += not self.is_told()
        assert self.untold <= 1 + len(self.met) // UNTOLD_ONE_IN, f"the disk was full, and nobody was told: {self.untold} times of {len(self.met)}; the last log:\n" \
            f"{self.fight.server.log_text()}"

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


class Failures(Fills):
    """One operation alone fails, of the full disk or of a broken one, and the phase goes on, without a new start where the server is still there. Each kind of operation has its share,
    as of a thousand writes one is like another; what came of each is counted."""

    noun = "failures"

    def __init__(self, fight):
        super().__init__(fight)
        self.outcomes = collections.Counter()

    def all_there_are(self):
        return [(operation, number, self.fight.chance.choice((errno.ENOSPC, errno.EIO))) for operation in OPERATIONS for number in range(1, self.most[operation,] + 1)]

    def next_one(self):
        """The kinds by turns, as long as there are some of each."""
        if not self.left:
            rows, of_a_kind = self.all_there_are(), {}
            self.fight.chance.shuffle(rows)
            for row in rows:
                of_a_kind.setdefault(row[0], []).append(row)
            turns = itertools.chain.from_iterable(itertools.zip_longest(*of_a_kind.values()))
            self.left = [row for row in turns if row][::-1]
        return self.left.pop()

    def arm(self, which):
        operation, number, cause = which if isinstance(which, tuple) else (WRITE, which, errno.ENOSPC)
        is_full = cause == errno.ENOSPC
        self.says, self.statuses = (SAYS_FULL, (503, 507)) if is_full else (SAYS_BROKEN, (500,))
        code = SQLITE_FULL if is_full and operation == WRITE else CODES[operation]
        self.disk.arm(number, (operation,), action=FILL, code=code, cause=cause, torn_bytes=self.fight.chance.choice((0, 9, 512)))

    def make_room(self):
        """There is room all the time."""

    def note_whether_told(self):
        server = self.fight.server
        outcome = "refused" if server.refusals else "command failed" if self.said else "logged" if self.is_logged() else "nobody told"
        cause = "full" if self.says is SAYS_FULL else "broken"
        self.outcomes[cause, OPERATION_NAMES[self.disk.get("failed_operation")], outcome] += 1

    def figure(self):
        rows = ", ".join(f"{count} {' '.join(row)}" for row, count in sorted(self.outcomes.items()))
        return f"{len({which[:2] for which in self.met if isinstance(which, tuple)})} of {sum(self.most[one,] for one in OPERATIONS)} operations: {rows}"
