"""Files of MLflow's runs that the server keeps: what the protocol says, without the client (test_mlflow.py has that)."""

from mlflowclient import API, call, make_run


def test_files_of_runs(make_server):
    """What clients other than Python's ask, what is no place of a file, and whose."""
    server = make_server("--mlflow-artifacts", "mlflow-artifacts:", "--max-attachments", "2")
    run_id = make_run(server)
    base, whole = f"{API}-artifacts/artifacts/0/{run_id}/artifacts", 200 << 10
    assert server.put(f"{base}/a/b.bin", b"x" * whole, content_type="application/octet-stream").status == 200
    assert server.get(f"{base}/a/b.bin").raw == b"x" * whole
    assert call(server, f"artifacts/list?run_id={run_id}&path=a") == (
        200, {"root_uri": f"mlflow-artifacts:/0/{run_id}/artifacts", "files": [{"path": "a/b.bin", "is_dir": False, "file_size": whole}]})
    assert server.put(f"{base}/c", b"").status == 200
    reply = server.put(f"{base}/d", b"x")
    assert (reply.status, reply.body["error_code"]) == (202, "RESOURCE_LIMIT_EXCEEDED") and "--max-attachments" in reply.body["message"]
    for method, path, status, code, part in [
            ("GET", f"{base}/d", 404, "RESOURCE_DOES_NOT_EXIST", "'d'"),
            ("PUT", f"{base}/a/../d", 400, "INVALID_PARAMETER_VALUE", "'..'"),
            ("GET", base, 400, "INVALID_PARAMETER_VALUE", "path"),
            ("PUT", f"{API}-artifacts/artifacts/0/{run_id}/d", 400, "INVALID_PARAMETER_VALUE", "EXPERIMENT/RUN"),
            ("PUT", f"{API}-artifacts/artifacts/0/nobody/artifacts/d", 404, "RESOURCE_DOES_NOT_EXIST", "nobody"),
            ("PUT", f"{API}-artifacts/artifacts/0/models/m-1/artifacts/d", 501, "NOT_IMPLEMENTED", "checkpoints"),
            ("DELETE", f"{base}/c", 501, "NOT_IMPLEMENTED", "/attachments/"),
            ("POST", f"{API}-artifacts/mpu/create/0/{run_id}/artifacts/d", 501, "NOT_IMPLEMENTED", "Multipart upload is not supported")]:
        reply = server.request(method, path, None if method == "GET" else b"anything")
        assert (reply.status, reply.body["error_code"]) == (status, code) and part in reply.body["message"], (path, reply)
