"""The value by which tools of MCP servers are found. Making it loads no more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from familiar_connect.api import Extension
from familiar_connect.api.tools import ToolSourcePart

if TYPE_CHECKING:  # nothing of a server is loaded before one is named
    from familiar_connect.api import PartContext
    from familiar_connect.api.tools import ToolSource


def create_tools(context: PartContext, wanted: Sequence[str]) -> ToolSource:
    """Called once for each familiar whose `tools` name some."""
    from familiar_connect.extensions.mcp.servers import McpTools
    from familiar_connect.extensions.mcp.settings import read_servers

    return McpTools(read_servers(context.secrets_file.with_name("mcp.toml")), wanted, context)


extension = Extension(name="mcp", tool_sources=(ToolSourcePart(create=create_tools, library="mcp"),))
