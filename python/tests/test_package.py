"""The package as users install it: one wheel, no other package, nothing native."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from jobforge import JobForge, define_job

if TYPE_CHECKING:
    from jobforge.testing.database import TestDatabase

    from .conftest import Ways

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution, as an index would offer it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    found = folder / "bin" / "python" if sys.platform != "win32" else folder / "Scripts" / "python.exe"
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([str(found), *install], check=True)
    return found


def run(python: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [str(python), *arguments], capture_output=True, text=True, check=False, env=environment, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_has_types_and_the_sql_of_the_kernel(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert wheel.name.endswith("-py3-none-any.whl")
    assert {"jobforge/py.typed", "jobforge/sql/api.json", "jobforge/sql/apply-order.txt"} <= names
    assert "jobforge/data/egress.json" in names
    sql = {path.relative_to(ROOT.parent).as_posix() for path in (ROOT.parent / "sql").rglob("*.sql")}
    shipped = {name.removeprefix("jobforge/") for name in names if name.endswith(".sql")}
    assert shipped == {name for name in sql if "/test/" not in name and "/node_modules/" not in name}
    assert not any("test" in name.split("/")[1:2] for name in names)


def test_the_connectors_find_their_table_of_addresses(python: Path) -> None:
    code = "from jobforge.connectors.egress.policy import egress_policy as p; print(p().addresses.allow('10.0.0.1'))"
    assert run(python, "-c", code).strip() == "False"


def test_nothing_native_comes_along(python: Path) -> None:
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    native = [path for path in packages.rglob("*") if path.suffix in (".so", ".pyd", ".dylib")]
    assert native == []
    listed = json.loads(run(python, "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"))
    assert {each["name"] for each in listed} - {"pip", "setuptools"} == {"jobforge"}


def test_the_command_says_what_is_missing(python: Path) -> None:
    done = subprocess.run(
        [str(python), "-m", "jobforge", "migrate", "--database-url", "postgresql://h/d"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert 'Install "jobforge[postgres]"' in done.stderr


HANDLERS = """
from pathlib import Path
import sys

from jobforge import JobContext, define_job

greet = define_job("greet")
native = define_job("native")

@greet.handler
async def handle(input, job: JobContext):
    return {"hello": input["name"]}

@native.handler
def extensions(input, job: JobContext):
    "Which extension modules the worker has loaded that did not come with Python itself."
    files = [getattr(each, "__file__", None) or "" for each in list(sys.modules.values())]
    return [file for file in files if "site-packages" in file and not file.endswith(".py")]
"""


def test_a_worker_runs_over_http(python: Path, ways: Ways, db: TestDatabase, tenant: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(HANDLERS)
    arguments = ways.arguments("http", "jobforge_worker")
    environment = {"JOBFORGE_URL": arguments["url"], "JOBFORGE_TOKEN": arguments["token"], "LOG_LEVEL": "silent"}
    command = [str(python), "-m", "jobforge", "worker", "tasks"]
    with JobForge(db.url) as forge:
        handles = [forge.enqueue(define_job(type), {"name": "Ada"}, tenant=tenant) for type in ("greet", "native")]
        worker = subprocess.Popen(command, cwd=tmp_path, env=environment)
        try:
            assert [handle.result(timeout=60) for handle in handles] == [{"hello": "Ada"}, []]
            worker.terminate()
            assert worker.wait(60) == 0
        finally:
            worker.kill()
            worker.wait()
