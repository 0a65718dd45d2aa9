"""Writes `before.db.zst`: a database in the middle of several lives, as the program of the time left it when it was killed.

    python3 tests/scenarios/upgrade/make.py SM-SERVER     # once, with a program from before a change of what points and times mean

What the lives are is in lives.py, which the test reads as well.
"""

import pathlib
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "support"), str(HERE)]

import lives  # noqa: E402
from smserver import Server, wait_until  # noqa: E402


class Old(Server):
    def bin(self, name):
        return sys.argv[1]


def main():
    with tempfile.TemporaryDirectory() as folder:
        server = Old(folder).start()
        lives.begin(server)
        for job, stream, lines in lives.written():
            wait_until(lambda: lives.extracted(server, job, stream) == lines, what=f"{job}/{stream}")
        server.kill()
        database = sqlite3.connect(server.database)
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        print("user_version", database.execute("PRAGMA user_version").fetchone()[0])
        database.close()
        subprocess.run(["zstd", "-q", "-19", "-f", server.database, "-o", HERE / "before.db.zst"], check=True)


if __name__ == "__main__":
    main()
