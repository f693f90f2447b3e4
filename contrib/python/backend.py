"""Builds the wheel and the source distribution of `statectl`, for pip and for contrib/release.

It needs nothing but the standard library, writes nothing but what it is asked for, and gives the same bytes for the same
sources: SOURCE_DATE_EPOCH is the time of what is inside.
"""
import base64
import gzip
import hashlib
import io
import os
import pathlib
import re
import tarfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
# In the source distribution it lies beside this file.
LICENCE = next(path for path in (HERE / "LICENSE", HERE.parents[1] / "LICENSE") if path.exists())
VERSION = re.search(r'VERSION = "(.+)"', (HERE / "statectl/_version.py").read_text(encoding="utf-8"))[1]
INFO = f"statectl-{VERSION}.dist-info"
WHEEL = b"Wheel-Version: 1.0\nGenerator: contrib/python/backend.py\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
# The earliest that a zip file can say, for whoever does not care.
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "315532800"))


def metadata():
    """What the package says of itself, without the description."""
    return (HERE / "metadata").read_text(encoding="utf-8").replace("@version@", VERSION).encode()


def _described():
    return metadata() + b"License-File: LICENSE\nDescription-Content-Type: text/markdown\n\n" + (HERE / "README.md").read_bytes()


def _sources():
    paths = sorted([*HERE.glob("statectl/*.py"), HERE / "statectl/py.typed"])
    return {str(path.relative_to(HERE)): path.read_bytes() for path in paths}


def _wheel(directory, files):
    files = {**files, f"{INFO}/LICENSE": LICENCE.read_bytes(), f"{INFO}/METADATA": _described(), f"{INFO}/WHEEL": WHEEL}
    record = f"{INFO}/RECORD"

    def row(name, content):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        return f"{name},sha256={digest},{len(content)}\n"

    files[record] = "".join([*(row(*file) for file in files.items()), f"{record},,\n"]).encode()
    name = f"statectl-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(pathlib.Path(directory, name), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, time.gmtime(EPOCH)[:6])
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, content)
    return name


# What a front end such as pip calls (PEP 517, PEP 660).


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, _sources())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _wheel(wheel_directory, {"statectl.pth": f"{HERE}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    top = f"statectl-{VERSION}"
    files = {"PKG-INFO": _described(), "LICENSE": LICENCE.read_bytes(), **_sources()}
    for name in ("README.md", "backend.py", "metadata", "pyproject.toml"):
        files[name] = (HERE / name).read_bytes()
    with open(pathlib.Path(sdist_directory, f"{top}.tar.gz"), "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=EPOCH) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime = len(content), EPOCH
            tar.addfile(entry, io.BytesIO(content))
    return f"{top}.tar.gz"
