"""The disk of sm-server-faults and sm-ship-faults: which operation fails, and how (tests/support/faults.c reads it)."""

import errno
import mmap
import struct

from smserver import Server, find_binary

READ, WRITE, SYNC, TRUNCATE, OPEN, DELETE = range(6)  # DELETE: names of files that go, or change
CHANGES = (WRITE, SYNC, TRUNCATE)
OPERATION_NAMES = ("read", "write", "sync", "truncate", "open", "name")
FAIL, KILL, POWER_LOSS, STALL, FILL = range(5)  # FILL: as FAIL, of the server's own files, too
SQLITE_IOERR_WRITE, SQLITE_IOERR_FSYNC, SQLITE_FULL, SQLITE_READONLY = 778, 1034, 13, 8
CODES = {WRITE: SQLITE_IOERR_WRITE, SYNC: SQLITE_IOERR_FSYNC, TRUNCATE: 1546, DELETE: 2570}  # of a failure that is not for want of room
FOR_EVER = -1
FIELDS = ("read", "write", "sync", "truncate", "open", "delete", "mask", "seen", "fail_at", "fail_count", "action", "code",
    "system_errno", "torn_bytes", "failed", "failed_operation", "clock_ms", "file_system", "keep", "sector_bytes", "seed", "kept_sectors", "lost_sectors", "empty_sectors", "lost_names", "lost_bytes_of_length")


class Shared:
    """A file of int64, shared with the server."""

    def __init__(self, path, fields):
        self.fields = fields
        path.write_bytes(bytes(8 * len(fields)))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 0)

    def get(self, field):
        return struct.unpack_from("=q", self.memory, 8 * self.fields.index(field))[0]

    def set(self, **values):
        for field, value in values.items():
            struct.pack_into("=q", self.memory, 8 * self.fields.index(field), value)


class Disk(Shared):
    def __init__(self, path):
        super().__init__(path, FIELDS)

    def mend(self):
        self.set(fail_at=0, mask=0, action=FAIL)

    def count_of(self, operation):
        return self.get(FIELDS[operation])

    def arm(self, number, operations=CHANGES, *, count=1, action=FAIL, code=SQLITE_IOERR_WRITE, cause=errno.EIO, torn_bytes=0, keep=0, sector_bytes=512,
            seed=1):
        """
        From now on the number-th of these operations fails, and count in all; action first: power loss is kept track of. keep: so many of a thousand sectors
        that were not synced are there after it, drawn by the seed.
        """
        self.set(keep=keep, sector_bytes=sector_bytes, seed=seed, kept_sectors=0, lost_sectors=0, empty_sectors=0, lost_names=0, lost_bytes_of_length=0)
        self.set(fail_at=0, action=action, fail_count=count, code=code, system_errno=cause, torn_bytes=torn_bytes, seen=0, failed=0)
        self.set(mask=sum(1 << operation for operation in operations))
        self.set(fail_at=number)


class Memory(Shared):
    """Of the allocations that requests make (tests/support/no_memory.c)."""

    def __init__(self, path):
        super().__init__(path, ("fail_at", "seen", "failed", "lasts"))

    def arm(self, number, lasts=False):
        """The number-th from now on fails; and all of its thread behind it, where it lasts, until fail_at is 0."""
        self.set(fail_at=0, seen=0, failed=0, lasts=lasts)
        self.set(fail_at=number)


class FaultyServer(Server):
    makes_its_tables = True  # that its disk fails in the midst of them is part of what is tested

    def __init__(self, folder, *arguments, **options):
        folder.mkdir(exist_ok=True)
        self.disk = Disk(folder / "faults")
        self.memory = Memory(folder / "no-memory")
        super().__init__(folder, *arguments, environment={"SM_FAULTS": str(folder / "faults"), "SM_NO_MEMORY": str(folder / "no-memory")}, **options)

    def bin(self, name):
        return find_binary("sm-server-faults" if name == "sm-server" else name)
