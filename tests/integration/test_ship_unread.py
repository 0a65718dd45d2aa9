"""sm-ship says at its end that nothing was found in a log, and where definitions are ready."""

import re
import sys
import urllib.parse

from smserver import wait_until


def odd(count):
    """No preset knows marks like these."""
    return "".join(f"#{step} xent^{2 + step % 9}.25^ gradmag^{step % 7}.5^\n" for step in range(count)).encode()


def said(result):
    assert result.returncode == 0, result
    return [line for line in result.stderr.decode().splitlines() if "no metric was found" in line]


def test_one_line_says_so_and_where_to_look(server, ship):
    line, = said(ship.run("--job", "team/run 1", data=odd(300)))
    assert "the 300 lines of job 'team/run 1'" in line and "(xent, gradmag)" in line, line
    where = re.search(r"http://\S+$", line).group()
    assert where.endswith(f"/jobs/{urllib.parse.quote('team/run 1', safe='')}/definitions"), where
    path = urllib.parse.urlsplit(where).path
    body = server.get(f"/api/v1{path}/proposals").body
    put = server.put(f"/api/v1{path}?backfill=true", json=body["shapes"][0]["put"])
    assert put.status == 202
    wait_until(lambda: (server.series("team/run 1", "xent") or {}).get("count") == 300, what="the stored log's points")


def test_of_a_command_its_exit_status_stays(server, ship):
    script = f"import sys; sys.stdout.buffer.write({odd(200)!r}); sys.exit(7)"
    result = ship.run("--job", "command", "--", sys.executable, "-c", script)
    assert result.returncode == 7 and result.stderr.count(b"no metric was found in the 200 lines") == 1, result.stderr


def test_nothing_is_said_where_there_is_nothing_to_say(server, ship):
    """Quiet; a line too few; metrics; numbers of which none varies."""
    assert said(ship.run("--quiet", "--job", "quiet", data=odd(300))) == []
    assert said(ship.run("--job", "short", data=odd(199))) == []
    assert said(ship.run("--job", "read", data=b"".join(b"step %d loss: %d.5\n" % (n, n % 9) for n in range(300)))) == []
    assert said(ship.run("--job", "chatter", data=b"nothing to see here\n" * 300)) == []
