"""What is installed: the wheel and the source distribution, as a front end such as pip has them built."""

import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

import statectl
from conftest import BOUND, ROOT

PACKAGE = ROOT / "contrib/python"


def built(hook, sources, into):
    """As a front end calls it: in a process of its own, in the sources' directory."""
    into.mkdir()
    script = f"import sys; sys.path.insert(0, '.'); sys.dont_write_bytecode = True; import backend; print(backend.{hook}(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", script, into], cwd=sources, check=True, capture_output=True, text=True, timeout=BOUND)
    return into / done.stdout.strip()


def listing(directory):
    # But for what Python keeps of any module that it imports, where it may.
    return sorted((str(path), path.stat().st_size) for path in directory.rglob("*") if "__pycache__" not in str(path))


@pytest.fixture
def sources(tmp_path):
    """A checkout's part that the build may not write to, with what an older build has left there."""
    copy = tmp_path / "checkout/contrib/python"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "tests"))
    shutil.copy(ROOT / "LICENSE", tmp_path / "checkout")
    (copy / "build/lib/statectl").mkdir(parents=True)
    (copy / "build/lib/statectl/old.py").touch()
    for path in [*copy.rglob("*"), copy]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    yield copy
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755)


def test_a_wheel_is_built_of_a_checkout_that_is_left_as_it_is(sources, tmp_path):
    before = listing(sources)
    wheel = built("build_wheel", sources, tmp_path / "one")
    assert listing(sources) == before
    assert wheel.read_bytes() == built("build_wheel", sources, tmp_path / "two").read_bytes()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    info = tmp_path / f"site/statectl-{statectl.__version__}.dist-info"
    assert (info / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert f"Version: {statectl.__version__}\n" in (info / "METADATA").read_text(encoding="utf-8")
    installed = {path.name for path in (tmp_path / "site/statectl").iterdir()}
    assert installed == {path.name for path in (PACKAGE / "statectl").iterdir() if path.suffix == ".py"} | {"py.typed"}
    script = "import statectl, importlib.metadata as m; print(statectl.__version__, m.version('statectl'), statectl.__file__)"
    done = subprocess.run([sys.executable, "-c", script], env={"PYTHONPATH": str(tmp_path / "site")}, check=True, capture_output=True,
                          text=True, timeout=BOUND)
    assert done.stdout.split() == [statectl.__version__] * 2 + [str(tmp_path / "site/statectl/__init__.py")]


def test_a_source_distribution_builds_the_same_wheel(sources, tmp_path):
    archive = built("build_sdist", sources, tmp_path / "one")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path / "sources")
    again = built("build_wheel", tmp_path / "sources" / f"statectl-{statectl.__version__}", tmp_path / "two")
    assert again.read_bytes() == built("build_wheel", sources, tmp_path / "three").read_bytes()


@pytest.mark.skipif(subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0, reason="there is no pip")
def test_pip_installs_it_without_a_network(sources, tmp_path):
    before = listing(sources)
    target = tmp_path / "site"
    subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--target", target, sources], check=True, capture_output=True,
                   timeout=BOUND, env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "PIP_ROOT_USER_ACTION": "ignore"})
    assert (target / "statectl/py.typed").exists() and listing(sources) == before
