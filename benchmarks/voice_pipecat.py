"""The same scripted turns through pipecat, for `benchmarks.voice --pipecat PYTHON`; run by that interpreter.

Prints one JSON object: the seconds from the end of a person's turn to the model's request, and from the model's first
word to the first sentence that is to be spoken. Turns are ended from outside, so nothing is waited for.
"""

# mypy: ignore-errors

import asyncio
import json
import sys
import time

from loguru import logger
from pipecat.frames.frames import (
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService
from pipecat.services.tts_service import TTSService
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies
from pipecat.workers.runner import WorkerRunner


class Times:
    """When each stage of one turn was reached."""

    def __init__(self) -> None:
        self.request = self.first_word = self.first_sentence = 0.0
        self.done = asyncio.Event()


class ScriptedLLM(LLMService):
    def __init__(self, words, times) -> None:
        super().__init__()
        self._words = words
        self._times = times

    async def process_frame(self, frame, direction) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        self._times().request = time.perf_counter()
        await self.push_frame(LLMFullResponseStartFrame())
        self._times().first_word = time.perf_counter()
        for word in self._words:
            await self.push_frame(LLMTextFrame(word))
        await self.push_frame(LLMFullResponseEndFrame())


class ScriptedTTS(TTSService):
    def __init__(self, times) -> None:
        super().__init__(sample_rate=16_000, push_start_frame=True, push_stop_frames=True)
        self._times = times

    async def run_tts(self, text, context_id):
        if not self._times().first_sentence:
            self._times().first_sentence = time.perf_counter()
            self._times().done.set()
        yield TTSAudioRawFrame(bytes(320), 16_000, 1, context_id=context_id)


class Sink(FrameProcessor):
    async def process_frame(self, frame, direction) -> None:
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)


async def measure(turns: int, question: str, words: list[str]) -> dict[str, list[float]]:
    current = [Times()]
    context = LLMContext()
    pair = LLMContextAggregatorPair(
        context, user_params=LLMUserAggregatorParams(user_turn_strategies=ExternalUserTurnStrategies())
    )
    pipeline = Pipeline(
        [pair.user(), ScriptedLLM(words, lambda: current[0]), ScriptedTTS(lambda: current[0]), Sink(), pair.assistant()]
    )
    worker = PipelineWorker(pipeline, params=PipelineParams(), cancel_on_idle_timeout=False)
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    found = {"to_request": [], "to_speech": []}
    await asyncio.sleep(1)
    for _ in range(turns):
        times = current[0] = Times()
        await worker.queue_frame(UserStartedSpeakingFrame())
        await worker.queue_frame(TranscriptionFrame(question, "user", "2026-01-01T00:00:00"))
        await asyncio.sleep(0.05)
        ended = time.perf_counter()
        await worker.queue_frame(UserStoppedSpeakingFrame())
        await asyncio.wait_for(times.done.wait(), 30)
        found["to_request"].append(times.request - ended)
        found["to_speech"].append(times.first_sentence - times.first_word)
        await asyncio.sleep(0.05)
    await worker.cancel()
    await running
    return found


if __name__ == "__main__":
    logger.remove()
    given = json.loads(sys.argv[1])
    print(json.dumps(asyncio.run(measure(given["turns"], given["question"], given["words"]))))
