"""turn_off_telemetry: no library of ours tells its maker anything. The package calls it before any library loads.

onnxruntime reads its variable when it is loaded, once: by then it has made a number for this computer, kept it under
the user's cache folder and begun to send. So these are set in the process's environment, where child processes find
them too, whatever the user's own environment says.
"""

from __future__ import annotations

import os

TELEMETRY_OFF = {
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_UPDATE_CHECK": "1",
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "DO_NOT_TRACK": "1",
}
"""onnxruntime; the Hugging Face hub under fastembed and faster-whisper, which would also send the user's token of its
own accord; and whoever heeds the common word for it."""


def turn_off_telemetry() -> None:
    """Set what each library reads when it is loaded."""
    os.environ.update(TELEMETRY_OFF)
