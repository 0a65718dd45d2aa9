"""A proxy before a PostgreSQL server that listens: which statements a client sends together, and how often it waits for the server."""

import contextlib
import socket
import struct
import threading


class Connection:
    """What one client said. A round is the statements up to a Sync, behind which the client waits: a round trip each."""

    def __init__(self):
        self.prepared, self.portal, self.round, self.rounds = {}, None, [], []

    def hear(self, kind, body):
        if kind == b"P":
            name, sql = body.split(b"\0", 2)[:2]
            self.prepared[name] = sql.decode()
        elif kind == b"B":
            self.portal = self.prepared[body.split(b"\0", 2)[1]]
        elif kind == b"E":
            self.round.append(self.portal)
        elif kind == b"Q":
            self.rounds.append([body.rstrip(b"\0").decode()])
        elif kind == b"S":
            self.rounds.append(self.round)
            self.round = []


class Talk:
    """with Talk(cluster) as talk: Server(…, postgres=talk)."""

    def __init__(self, cluster):
        self.cluster, self.connections, self.open = cluster, [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://sm@127.0.0.1:{self.listener.getsockname()[1]}/postgres?sslmode=disable"

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        for one in (self.listener, *self.open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def forget(self):
        for one in list(self.connections):
            one.rounds = []

    def rounds(self, word=""):
        """Of all connections: those in which some statement has the word."""
        return [one for each in list(self.connections) for one in list(each.rounds) if any(word in sql for sql in one)]

    def transactions(self, word=""):
        """Of all connections: the rounds of each transaction that writes, from its BEGIN to its COMMIT, in which some statement has the word."""
        found = []
        for each in list(self.connections):
            parts = []
            for one in list(each.rounds):
                if any(sql.startswith("BEGIN") and "READ WRITE" in sql for sql in one):
                    parts = []
                parts.append(one)
                if "COMMIT" in one:
                    found.append(parts)
                    parts = []
        return [parts for parts in found if any(word in sql for one in parts for sql in one)]

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                server = socket.socket(socket.AF_UNIX)
                server.connect(f"{self.cluster.folder}/.s.PGSQL.5432")
                self.open += [client, server]
                threading.Thread(target=self._listen, args=(client, server), daemon=True).start()
                threading.Thread(target=self._copy, args=(server, client), daemon=True).start()

    def _listen(self, client, server):
        connection, data, head = Connection(), b"", 4  # the first message has no kind
        self.connections.append(connection)
        with contextlib.suppress(OSError):
            while got := client.recv(1 << 16):
                data += got
                while len(data) >= head and len(data) >= (end := struct.unpack("!I", data[head - 4:head])[0] + head - 4):
                    if head == 5:
                        connection.hear(data[:1], data[5:end])
                    data, head = data[end:], 5
                server.sendall(got)
        self._end(client, server)

    def _copy(self, source, target):
        with contextlib.suppress(OSError):
            while got := source.recv(1 << 16):
                target.sendall(got)
        self._end(source, target)

    @staticmethod
    def _end(*sockets):
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
