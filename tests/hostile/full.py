"""A file system of a fixed size that somebody else fills to the last block, and empties, while all kinds of things are written. What was acknowledged is there, once; who is refused
hears why and where, and is taken again as soon as there is room, without a new start. (Full at each write of a phase: killing.py.)"""

import contextlib
import os
import subprocess
import threading
import time

from attack import LeftOut, attack
from ends import SAYS_FULL
from killing import check, command, fresh
from power import make_senders
from smserver import PATIENCE_S, Server, wait_until

DISK_BYTES, SPARE_BYTES, MOST_LEFT_BYTES = 48 << 20, 24 << 20, 1 << 20
OPTIONS = ("--seal-age", "100ms", "--seal-bytes", "64KiB", "--wal-bytes", "1MiB", "--min-free-bytes", "0", "--log-bytes", "0", "--stop-timeout", "30s")
LONGEST_FULL_S, MOST_LIVES = 3, 30


class SmallDisk(Server):
    """On a tmpfs of its own, where this is root. A request that the disk refuses is asked again until it is taken."""

    makes_its_tables = True

    def __init__(self, folder, *arguments, **options):
        super().__init__(folder / "disk", *arguments, **options)
        self.folder.mkdir()
        self.is_small = os.geteuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "none", self.folder], stderr=subprocess.DEVNULL,
            check=False).returncode == 0
        self.ballast, self.refusals, self.pause = self.folder / "of others", 0, threading.Event()

    def close(self):
        try:
            super().close()
        finally:
            if self.is_small:
                subprocess.run(["umount", "-l", self.folder], check=True)

    def request(self, *arguments, **options):
        until = time.monotonic() + PATIENCE_S
        while (reply := super().request(*arguments, **options)).status in (503, 507):
            assert time.monotonic() < until, f"refused for {PATIENCE_S} s, with room or without: {reply}"
            assert SAYS_FULL.search(str(reply.body)) and str(self.database) in str(reply.body), reply
            self.refusals += 1
            self.pause.wait(0.02)
        return reply

    def free_bytes(self):
        room = os.statvfs(self.folder)
        return room.f_bavail * room.f_frsize

    def fill(self, left):
        with open(self.ballast, "wb") as file, contextlib.suppress(OSError):
            while (more := min(self.free_bytes() - left, 1 << 20)) > 0:
                file.write(bytes(more))
                file.flush()

    def make_room(self):
        self.ballast.unlink(missing_ok=True)


def begin_while_full(server):
    """It serves, or says what it lacks; with room it serves."""
    server.launch("127.0.0.1:0", *OPTIONS)
    wait_until(lambda: server.process.poll() is not None or "event=listening" in server.log_text(), what="the end of a start")
    if server.process.poll() is None:
        return False
    code = server.wait()
    assert code == 1 and SAYS_FULL.search(server.log_text()) and str(server.folder) in server.log_text(), (code, server.log_text())
    server.make_room()
    server.start("127.0.0.1:0", *OPTIONS)
    return True


def copy_while_full(server):
    copy = server.folder / "copy.db"
    code, said = command(server, "backup", str(copy))
    assert code == 0 or SAYS_FULL.search(said) and str(server.folder) in said, said
    assert copy.exists() == (code == 0) and not copy.with_name("copy.db.partial").exists()
    copy.unlink(missing_ok=True)
    return code != 0


def live_on_a_full_disk(fight, server, senders, counts):
    """Filled and emptied again and again; at the end with room, and killed or stopped while it was full."""
    threads = [threading.Thread(target=sender.run) for sender in senders]
    for thread in threads:
        thread.start()
    for _ in range(fight.chance.randrange(1, 6)):
        before, acknowledged = server.refusals, senders[0].acknowledged
        server.fill(fight.chance.randrange(MOST_LEFT_BYTES))
        with contextlib.suppress(AssertionError):  # what was left is enough for all that came
            wait_until(lambda before=before: server.refusals > before, LONGEST_FULL_S, what="a refusal")
        counts["fills"] += 1
        if fight.chance.random() < 0.5:
            counts["copies refused"] += copy_while_full(server)
        server.make_room()
        wait_until(lambda acknowledged=acknowledged: senders[0].acknowledged > acknowledged or senders[0].failure, what="lines that are taken again")
    server.fill(fight.chance.randrange(MOST_LEFT_BYTES >> 3))
    server.kill()
    for thread in threads:
        thread.join()
    assert not [sender.failure for sender in senders if sender.failure]
    counts["starts refused"] += begin_while_full(server)
    server.make_room()


def was_refused(server, counts):
    return server.refusals or counts["starts refused"] or counts["copies refused"]


@attack("full", "each line and point once, each job whole, no damage", kind=SmallDisk)
def a_small_disk(fight):
    server, senders, counts = fight.server, [], {"fills": 0, "starts refused": 0, "copies refused": 0}
    if not server.is_small:
        raise LeftOut("only root can mount a small disk")
    server.stop()
    while fight.goes_on(4) or not was_refused(server, counts) and fight.tried < MOST_LIVES:
        if not senders or server.free_bytes() < SPARE_BYTES:
            fresh(server)
            senders = make_senders(server, fight.chance)
        if not server.process:
            server.start("127.0.0.1:0", *OPTIONS)
        live_on_a_full_disk(fight, server, senders, counts)
        server.wait_for_extraction()
        for sender in senders:
            sender.verify()
        server.stop()
        check(server)
    server.start()
    assert was_refused(server, counts), f"in {fight.tried} lives the disk was never too small: {counts}"
    return ", ".join(f"{count} {name}" for name, count in {**counts, "requests refused": server.refusals}.items())
