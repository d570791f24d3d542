"""PageRenderer: the page's templates and its own files, read once, and answers made of them."""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from familiar_connect.errors import FamiliarError
from familiar_connect.support.open_files import OUT_OF_FILES
from familiar_connect.support.text import without_surrogates

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

logger = logging.getLogger(__name__)

NO_FILES = "no more files can be opened: raise the limit, `ulimit -n 1024`, and start the program again"
HERE = Path(__file__).parent
MAX_FIELDS = 50
KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_OWN_ADDRESS = re.compile(r'(\s(?:href|action|formaction|src)=")/(?!f/|static/|/)')
"""An address of the pages in a tag; words of people never hold one, because their quotes are escaped."""
_compiled: dict[tuple[str, str], Any] = {}
"""Code of our templates by name and content: each familiar has a renderer of its own, and all use the same ones."""
Handler = Callable[["Request"], Awaitable["Response"]]


@dataclass(frozen=True)
class OwnFile:
    """A file of the page itself."""

    content: bytes
    kind: str
    mark: str
    """Changes when the file does."""


class SharedValue:
    """What a template may ask for: a piece of a page names few of them, and the others are not looked up for it."""

    def __init__(self, look: Callable[[], Any]) -> None:
        self._look = look

    @cached_property
    def value(self) -> Any:
        return self._look()


class PageRenderer:
    """Templates of ours, with every value escaped; files of ours by name, so that no path is ever looked up."""

    def __init__(self, at: str = "", **shared: Callable[[], Any]) -> None:
        """*shared* is asked by each template that uses it, once a page; *at* is where the pages begin."""
        self._at = at
        self._shared = shared

    @cached_property
    def files(self) -> dict[str, OwnFile]:
        """The files that are served, by name."""
        found = {}
        for path in sorted((HERE / "static").iterdir()):
            if path.suffix in KINDS:
                content = path.read_bytes()
                found[path.name] = OwnFile(content, KINDS[path.suffix], hashlib.sha256(content).hexdigest()[:16])
        return found

    @cached_property
    def version(self) -> str:
        """Changes when the page does: a tab that was opened before is of another version."""
        marks = [each.mark for each in self.files.values()]
        marks += [hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((HERE / "templates").iterdir())]
        return hashlib.sha256("".join(marks).encode()).hexdigest()[:16]

    def file_url(self, name: str) -> str:
        """The address of a file of ours, which changes when the file does."""
        return f"/static/{name}?v={self.files[name].mark}"

    @cached_property
    def _templates(self) -> Environment:
        from jinja2 import BytecodeCache, Environment, FileSystemLoader, StrictUndefined
        from jinja2.bccache import Bucket
        from jinja2.runtime import Context

        class CompiledTemplates(BytecodeCache):
            """Compiles each template once in a process."""

            def load_bytecode(self, bucket: Bucket) -> None:
                bucket.code = _compiled.get((bucket.key, bucket.checksum))

            def dump_bytecode(self, bucket: Bucket) -> None:
                _compiled[bucket.key, bucket.checksum] = bucket.code

        class LookingContext(Context):
            """Looks a shared value up when a template first names it."""

            def resolve_or_missing(self, key: str) -> Any:
                found = super().resolve_or_missing(key)
                return found.value if isinstance(found, SharedValue) else found

        class PageEnvironment(Environment):
            context_class = LookingContext

        made = PageEnvironment(
            loader=FileSystemLoader(HERE / "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            bytecode_cache=CompiledTemplates(),
        )
        made.filters["thousands"] = lambda number: f"{number:,}"
        made.globals["file_url"] = self.file_url
        drawn = vars(made.get_template("icons.html").module)
        for name in ("icon", "avatar"):
            made.globals[name] = drawn[name]
        return made

    def text(self, template: str, **values: Any) -> str:
        """A template with *values* in it; touches the disk, so it is called in a thread."""
        shared = {name: SharedValue(look) for name, look in self._shared.items()}
        made = self._templates.get_template(template).render({"at": self._at, **shared, **values})
        return _OWN_ADDRESS.sub(rf"\g<1>{self._at}/", made) if self._at else made

    def page(self, template: str, *, status: int = 200, **values: Any) -> Response:
        from starlette.responses import HTMLResponse

        return HTMLResponse(self.text(template, **values), status_code=status)

    def problem(self, sentence: str, *, status: int = 400) -> Response:
        """What went wrong and what to do, as a page."""
        return self.page("problem.html", status=status, title="That did not work", sentence=sentence)


def answer_json(value: object, *, status: int = 200) -> Response:
    from starlette.responses import Response

    text = json.dumps(value, ensure_ascii=False, default=str)
    return Response(text.encode("utf-8", "replace"), status_code=status, media_type="application/json")


def answer_html(content: bytes) -> Response:
    from starlette.responses import HTMLResponse

    return HTMLResponse(content)


def stream_events(events: AsyncIterator[str]) -> Response:
    """Server-sent events as they come; a proxy before us is asked not to gather them."""
    from starlette.responses import StreamingResponse

    return StreamingResponse(events, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def is_script(request: Request) -> bool:
    """Whether a script of the page asks, and not a form."""
    return "application/json" in request.headers.get("accept", "")


def redirect(path: str) -> Response:
    from starlette.responses import RedirectResponse

    return RedirectResponse(path, status_code=303)


def make_routes(handlers: Iterable[tuple[str, Handler, str]], renderer: PageRenderer) -> list[BaseRoute]:
    """A route for each path, handler and method; errors a person can mend are told. `{name:number}` is an id."""
    from starlette.convertors import Convertor, register_url_convertor
    from starlette.routing import Route

    class NumberConvertor(Convertor[int]):
        """A number that a database can hold; one with more digits is no address of ours."""

        regex = "[0-9]{1,18}"

        def convert(self, value: str) -> int:
            return int(value)

        def to_string(self, value: int) -> str:
            return str(value)

    register_url_convertor("number", NumberConvertor())
    return [Route(path, with_problems(handler, renderer), methods=[method]) for path, handler, method in handlers]


def with_problems(handler: Handler, renderer: PageRenderer) -> Handler:
    """*handler*, whose errors a person can mend are told as a page or, to a script, as JSON."""

    async def handle(request: Request) -> Response:
        from starlette.requests import ClientDisconnect

        try:
            return await _with_problem_pages(handler, renderer, request)
        except ClientDisconnect:  # nobody is left to answer
            return answer_json({"problem": "the connection ended before the request was whole"}, status=400)
        except OSError as error:
            if error.errno not in OUT_OF_FILES:
                raise
            logger.error("a page was not shown", extra={"reason": NO_FILES})
            return answer_json({"problem": NO_FILES}, status=503)

    return handle


async def _with_problem_pages(handler: Handler, renderer: PageRenderer, request: Request) -> Response:
    try:
        return await handler(request)
    except FamiliarError as error:
        if is_script(request):
            return answer_json({"problem": str(error)}, status=400)
        return renderer.problem(str(error))


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a form or of a JSON object; anything else is none, and half a character is no character."""
    body = (await request.body()).decode("utf-8", "replace")
    is_json = request.headers.get("content-type", "").startswith("application/json")
    fields = _read_object(body) if is_json else _read_fields(body)
    return {name: without_surrogates(value) for name, value in fields.items()}


def _read_object(body: str) -> dict[str, str]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}


def _read_fields(body: str) -> dict[str, str]:
    from urllib.parse import parse_qsl

    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:  # more fields than any form of ours has
        return {}


def read_number(request: Request, name: str) -> int | None:
    """A number of the address's query; None where it is none that could name a turn."""
    value = request.query_params.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 19 else None
