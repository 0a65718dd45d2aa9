"""Files of MLflow's runs that the server keeps: what the protocol says, without the client (test_mlflow.py has that)."""

from mlflowclient import API, call, make_run
from smserver import quote
from test_auth import make_token


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
            ("DELETE", f"{base}/d", 404, "RESOURCE_DOES_NOT_EXIST", "'d'"),
            ("DELETE", f"{base}/a/../c", 400, "INVALID_PARAMETER_VALUE", "'..'"),
            ("POST", f"{API}-artifacts/mpu/create/0/{run_id}/artifacts/d", 501, "NOT_IMPLEMENTED", "Multipart upload is not supported")]:
        reply = server.request(method, path, None if method in ("GET", "DELETE") else b"anything")
        assert (reply.status, reply.body["error_code"]) == (status, code) and part in reply.body["message"], (path, reply)


def test_files_of_runs_are_deleted(make_server):
    """One, those in a folder and no more (a name that begins like it stays), all; of its own team alone."""
    server = make_server("--mlflow-artifacts", "mlflow-artifacts:", "--max-attachments", "3000")
    admin, red, blue = make_token(server, "root", "admin"), make_token(server, "red", "write", "--team", "red"), make_token(server, "blue", "write", "--team", "blue")
    server.token = red
    experiment = call(server, "experiments/create", {"name": "e"})[1]["experiment_id"]
    run_id = make_run(server, experiment_id=experiment)
    base = f"{API}-artifacts/artifacts/{experiment}/{run_id}/artifacts"
    for path in ("a", "a.txt", "plots/x/1.png", "plots/2.png", "plots2", "z"):
        assert server.put(f"{base}/{path}", b"x").status == 200

    def files():
        rows = server.get("/api/v1/jobs", token=admin).body["jobs"]
        return [row["path"] for row in server.get(f"/api/v1/jobs/{quote(rows[0]['TrainingJobName'])}/attachments", token=admin).body["attachments"]]

    assert server.request("DELETE", f"{base}/a", token=blue).status in (403, 404) and len(files()) == 6
    reply = server.request("DELETE", f"{base}/a")
    assert (reply.status, reply.body) == (200, {}) and files() == ["a.txt", "plots/2.png", "plots/x/1.png", "plots2", "z"]
    assert server.request("DELETE", f"{base}/a").status == 404
    assert server.request("DELETE", f"{base}/plots").status == 200 and files() == ["a.txt", "plots2", "z"]
    assert server.request("DELETE", base).status == 200 and files() == []
    assert server.request("DELETE", base).status == 200, "nothing is left to delete"


def test_files_of_a_deleted_run(make_server):
    """They are as deleted as it is, and come back with it."""
    server = make_server("--mlflow-artifacts", "mlflow-artifacts:")
    run_id = make_run(server)
    base = f"{API}-artifacts/artifacts"
    file, folder, of_run = (f"{base}/0/{run_id}/artifacts/a", f"{base}?path=0/{run_id}/artifacts", f"{API}/artifacts/list?run_id={run_id}")
    assert server.put(file, b"x").status == 200
    assert call(server, "runs/update", {"run_id": run_id, "status": "FINISHED"})[0] == 200
    assert call(server, "runs/delete", {"run_id": run_id}) == (200, {})
    for method, path in (("GET", file), ("PUT", file), ("DELETE", file), ("GET", folder), ("GET", of_run)):
        reply = server.request(method, path, b"y" if method == "PUT" else None)
        assert reply.status == 400 and f"{run_id} must be in the 'active' state" in reply.body["message"], (method, path, reply.body)
    assert call(server, "runs/restore", {"run_id": run_id}) == (200, {})
    assert server.get(file).raw == b"x" and len(server.get(of_run).body["files"]) == 1
