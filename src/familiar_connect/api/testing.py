"""For the tests of an extension: a familiar with a scripted model, the checks of a platform, and a clock to set."""

from __future__ import annotations

from familiar_connect.extensions.testing.platform_check import (
    PlatformCheckFailed,
    PlatformFault,
    PlatformNetwork,
    check_platform,
)
from familiar_connect.extensions.testing.scripted_familiar import (
    LastPrompt,
    ScriptedFamiliar,
    ShownBlock,
    start_familiar,
)
from familiar_connect.llm.scripted import ToolCallReply
from familiar_connect.support.clock import ManualClock

__all__ = [
    "LastPrompt",
    "ManualClock",
    "PlatformCheckFailed",
    "PlatformFault",
    "PlatformNetwork",
    "ScriptedFamiliar",
    "ShownBlock",
    "ToolCallReply",
    "check_platform",
    "start_familiar",
]
