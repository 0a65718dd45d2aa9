"""What tests of sm-ship ask of a server."""

import urllib.parse


def job(server, name):
    return server.get("/api/v1/jobs/" + urllib.parse.quote(name, safe="")).body


def lines(server, name, stream="algo-1"):
    """All texts of a stream, in order."""
    texts = []
    while True:
        path = f"/api/v1/jobs/{urllib.parse.quote(name, safe='')}/logs?stream={stream}&from={len(texts)}&limit=1000"
        reply = server.get(path)
        page = reply.body["lines"] if reply.status == 200 else []
        if not page:
            return texts
        texts += [line["text"] for line in page]
