"""The wall clock is set while lines come and are sealed: forward and back, by seconds and by days. Nothing goes by it but the times that are shown."""

from attack import attack
from faults import FaultyServer
from killing import SEALS, check
from power import Lines
from smserver import wait_until

HOUR_MS, DAY_MS = 3_600_000, 24 * 3_600_000
STEPS_MS = (-DAY_MS, -HOUR_MS, -60_000, -1000, 1000, 60_000, HOUR_MS, DAY_MS)


@attack("clock", "each line and point once, sealed in time, no damage", *SEALS, kind=FaultyServer)
def set_while_lines_are_sealed(fight):
    server, lines, sets = fight.server, Lines(fight.server, fight.chance, "s0"), 0

    def set_clock():
        server.disk.set(clock_ms=server.disk.get("clock_ms") + fight.chance.choice(STEPS_MS))

    while fight.goes_on(30):
        set_clock()
        lines.send_some()
        set_clock()  # while they are extracted, and sealed
        sets += 2
        assert not lines.failure, lines.failure
        if fight.chance.random() < 0.4:
            wait_until(lambda: server.sql("SELECT sum(line_count) FROM blocks") == [(lines.acknowledged,)], what="all lines to be sealed")
        if fight.chance.random() < 0.1:
            server.kill()
            server.start("127.0.0.1:0", *SEALS)
    lines.verify()
    server.stop()
    check(server)
    server.start()
    return f"{sets} times set, {lines.acknowledged} lines"
