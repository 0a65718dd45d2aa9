"""MCP's official SDK at /mcp and at sm-search mcp, by both eras. Its own process, because of what it imports; with SM_LONG alone."""

import json
import os
import subprocess
import sys

import pytest

from smserver import ROOT, sanitizer_environment

SDK = ROOT / ".cache/mcp"
pytestmark = pytest.mark.skipif(not os.environ.get("SM_LONG") or not SDK.is_dir(), reason="needs SM_LONG and .cache/mcp (tests/clients/mcp.txt)")

PROGRAM = """
import asyncio, json, os, sys
from mcp import Client, StdioServerParameters
async def main(where, mode):
    server = where if where.startswith("http") else StdioServerParameters(command=where, args=["mcp"], env=dict(os.environ))
    async with Client(server, mode=mode) as client:
        tools = (await client.list_tools()).tools
        found = await client.call_tool("search_jobs", {"query": "name:a"})
        wrong = await client.call_tool("get_job", {"job": "nobody"})
        print(json.dumps({"tools": [tool.name for tool in tools], "text": found.content[0].text, "wrong": wrong.is_error,
                          "version": client.protocol_version}))
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("mode, version", [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
@pytest.mark.parametrize("transport", ["http", "stdio"])
def test_the_sdk_reads(server, transport, mode, version):
    server.send("a", ["step 1 loss=2"])
    where = f"{server.url}/mcp" if transport == "http" else server.bin("sm-search")
    environment = sanitizer_environment({"PATH": os.environ["PATH"], "PYTHONPATH": str(SDK), "SMFLEET_SERVER": server.url})
    done = subprocess.run([sys.executable, "-c", PROGRAM, where, mode], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    assert "search_logs" in got["tools"] and '"TrainingJobName":"a"' in got["text"] and got["wrong"] is True and got["version"] == version
