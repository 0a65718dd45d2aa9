"""CloudWatch Logs against a server: requests as shippers make them, and what tests of them share."""

import gzip
import json
import time

GROUP = "/aws/sagemaker/TrainingJobs"


def now_ms():
    return int(time.time() * 1000)


def ask(server, operation, document, packed=False, **headers):
    """One request in awsJson1.1, as a shipper's own code makes it."""
    body = document if isinstance(document, (bytes, str)) else json.dumps(document)
    if packed:
        body = gzip.compress(body.encode())
        headers["Content-Encoding"] = "gzip"
    return server.post("/", body, content_type="application/x-amz-json-1.1",
        headers={"X-Amz-Target": f"Logs_20140328.{operation}", **headers})


def kind(reply):
    """What Fluent Bit compares: the bare __type."""
    return json.loads(reply.raw).get("__type") if reply.raw else None
