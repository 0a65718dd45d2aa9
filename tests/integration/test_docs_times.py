"""What docs/times.md shows is run, as it stands there."""

import pathlib
import re
import subprocess

from smserver import PATIENCE_S, ROOT, wait_until

COMMANDS = re.findall(r"^```sh\n(.*?)^```", pathlib.Path(ROOT, "docs/times.md").read_text(), re.M | re.S)


def test_the_commands_do_what_is_said(server):
    assert len(COMMANDS) == 3
    for command in COMMANDS:
        subprocess.run(["bash", "-c", command.replace(":8080", f":{server.port}").replace("curl ", "curl -f ")],
            stdout=subprocess.PIPE, timeout=PATIENCE_S, check=True)
    assert server.get("/api/v1/jobs/gpt-2").body["SecondaryStatus"] == "Completed"
    job = server.get("/api/v1/jobs/bert-7").body
    assert (job["SecondaryStatus"], job["TrainingStartTime"]) == ("Training", 1714564800)
    wait_until(lambda: server.lines("bert-7", "node-1"), what="the line")
    assert server.lines("bert-7", "node-1")[0]["ts_ms"] == 1714564800000
