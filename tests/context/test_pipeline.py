"""The one path from a request to a reply."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from familiar_connect.chat.types import Directives, Sender, Turn
from familiar_connect.context.pipeline import ContextPipeline, PipelineOutput, ProviderOutcome, TurnDeadlineError
from familiar_connect.context.protocols import PreProcessorError
from familiar_connect.context.types import ContextRequest, Contribution, ItemTag, Layer, PendingTurn, Prompt
from familiar_connect.errors import ModelError
from familiar_connect.llm.scripted import ScriptedModel
from familiar_connect.llm.types import Capabilities
from familiar_connect.observe.trace import TraceBuilder
from familiar_connect.presets.arranger import PresetArranger
from familiar_connect.presets.types import ActivePreset, CardFields, Preset, PresetFidelity, PresetNode
from tests.fakes.context import (
    ADA,
    BO,
    PLENTY,
    AddingPreProcessor,
    AppendingPostProcessor,
    FailingProvider,
    FixedProvider,
    UncancellableProvider,
    WaitingProvider,
    a_dialogue,
    a_piece,
    a_request,
    contents,
    said,
)
from tests.fakes.simulated_test import in_simulated_time


def raising(error: BaseException) -> Any:
    def instead() -> None:
        raise error

    return instead


# Assembly


async def test_nobody_asked_nothing_changed() -> None:
    """Without providers the output is empty and the request is the one given."""
    request = a_request()
    output = await ContextPipeline([]).assemble(request, {})

    assert (output.request, output.outcomes, output.budget.by_layer, output.budget.dropped) == (request, [], {}, [])


async def test_the_chain_is_packed_before_the_providers_in_their_order() -> None:
    """Among equals, arrival decides."""
    first, second = FixedProvider(a_piece("p1", Layer.depth_inject)), FixedProvider(a_piece("p2", Layer.depth_inject))
    pipeline = ContextPipeline([first, second], [AddingPreProcessor("c1"), AddingPreProcessor("c2")])
    output = await pipeline.assemble(a_request(), PLENTY)

    assert output.budget.by_layer == {Layer.depth_inject: "c1\n\nc2\n\np1\n\np2"}


async def test_budgets_are_those_given() -> None:
    """A layer without one gets nothing, and the note says so."""
    pipeline = ContextPipeline([FixedProvider(a_piece("a", Layer.core), a_piece("b", Layer.content))])
    output = await pipeline.assemble(a_request(), budget_by_layer={Layer.core: 10})

    assert (output.budget.by_layer, [n.layer for n in output.budget.dropped]) == ({Layer.core: "a"}, [Layer.content])


async def test_a_failing_provider_leaves_the_others_alone() -> None:
    """Outcomes keep registration order."""
    pipeline = ContextPipeline([FailingProvider(OSError("disk")), FixedProvider(a_piece("here"))])
    output = await pipeline.assemble(a_request(), PLENTY)

    assert [(o.provider_id, o.status, o.error_message) for o in output.outcomes] == [
        ("failing", "error", "OSError: disk"),
        ("giving", "ok", None),
    ]
    assert output.budget.by_layer == {Layer.content: "here"}


@in_simulated_time
async def test_assembly_ends_with_the_turns_deadline() -> None:
    """Providers unfinished by then are late, however long they were allowed."""
    pipeline = ContextPipeline(
        [
            WaitingProvider(deadline_s=60),
            UncancellableProvider(id="stubborn", deadline_s=60),
            FixedProvider(a_piece("here")),
        ]
    )
    began = asyncio.get_running_loop().time()
    output = await pipeline.assemble(a_request(deadline_s=0.03), PLENTY)

    assert [o.status for o in output.outcomes] == ["timeout", "timeout", "ok"]
    assert asyncio.get_running_loop().time() - began == pytest.approx(0.03)
    pipeline.providers[1].go.set()  # type: ignore[attr-defined]


@pytest.mark.parametrize("deadline_s", [0.0, -1.0])
async def test_without_a_deadline_only_the_providers_own_counts(deadline_s: float) -> None:
    """Nought or less means no limit."""
    patient = WaitingProvider(a_piece("late but here"))
    task = asyncio.create_task(ContextPipeline([patient]).assemble(a_request(deadline_s=deadline_s), PLENTY))
    await patient.asked.wait()
    patient.go.set()

    assert [o.status for o in (await task).outcomes] == ["ok"]


async def test_directives_of_a_cut_block_survive() -> None:
    """They are collected before the budget; the turn's own come last."""
    brings = a_piece("x" * 400, directives=Directives(lower=("hint",), tail=("first",)))
    turn = Turn(familiar_id="wren", channel_id=7, said=(), directives=Directives(tail=("second",)))
    output = await ContextPipeline([FixedProvider(brings)]).assemble(a_request(turn=turn), {})

    assert (output.budget.kept, output.directives) == ([], Directives(lower=("hint",), tail=("first", "second")))


async def test_the_same_parts_give_the_same_bytes_whoever_finishes_first() -> None:
    """Registration order decides, never the order of arrival."""

    async def prompt(order: list[int]) -> Prompt:
        waiting = [WaitingProvider(a_piece(f"p{n}"), id=f"p{n}") for n in range(3)]
        pipeline = ContextPipeline(waiting, budget_by_layer=PLENTY)
        task = asyncio.create_task(pipeline.build_prompt(a_request()))
        for provider in waiting:
            await provider.asked.wait()
        for number in order:
            waiting[number].go.set()
            await asyncio.sleep(0)
        return await task

    assert await prompt([0, 1, 2]) == await prompt([2, 0, 1])


# The chain


async def test_the_chain_runs_in_order_each_seeing_what_came_before() -> None:
    """While the providers see the request as it was given."""
    provider, first, second = (
        FixedProvider(),
        AddingPreProcessor("one", id="first"),
        AddingPreProcessor("two", id="second"),
    )
    request = a_request()
    output = await ContextPipeline([provider], [first, second]).assemble(request, PLENTY)

    assert [c.text for c in output.request.preprocessor_contributions] == ["one", "two"]
    assert [c.text for c in second.seen[0].preprocessor_contributions] == ["one"]
    assert provider.asked == [request]


async def test_the_chain_runs_beside_the_providers() -> None:
    """Each waits for the other to have begun, and both go on."""
    provider = WaitingProvider(a_piece("p"))
    chain_began = asyncio.Event()

    async def meet() -> None:
        chain_began.set()
        await provider.asked.wait()
        provider.go.set()

    chain = AddingPreProcessor(instead=meet)
    output = await asyncio.wait_for(ContextPipeline([provider], [chain]).assemble(a_request(), PLENTY), 100)

    assert (chain_began.is_set(), [o.status for o in output.outcomes]) == (True, ["ok"])


async def test_a_pre_processor_may_ask_to_be_skipped(caplog: pytest.LogCaptureFixture) -> None:
    """The next one sees the unchanged request, and a warning names the one left out."""
    skipped, next_ = (
        AddingPreProcessor(id="moody", instead=raising(PreProcessorError("not today"))),
        AddingPreProcessor("kept"),
    )
    request = a_request()
    with caplog.at_level(logging.WARNING):
        output = await ContextPipeline([], [skipped, next_]).assemble(request, PLENTY)

    assert next_.seen == [request]
    assert [c.text for c in output.request.preprocessor_contributions] == ["kept"]
    assert [r.levelno for r in caplog.records if "moody" in r.getMessage()] == [logging.WARNING]


@pytest.mark.parametrize("error", [KeyError("bug"), TimeoutError("its own"), RuntimeError("odd")])
async def test_any_other_error_of_the_chain_leaves_as_itself(error: Exception) -> None:
    """No exception group, and the providers are cancelled."""
    provider = WaitingProvider()

    async def fail_once_asked() -> None:
        await provider.asked.wait()
        raise error

    with pytest.raises(type(error)) as caught:
        await ContextPipeline([provider], [AddingPreProcessor(instead=fail_once_asked)]).assemble(
            a_request(deadline_s=30), PLENTY
        )
    assert (caught.value is error, provider.cancelled) == (True, True)


@in_simulated_time
async def test_a_chain_out_of_time_ends_after_its_last_finished_member(caplog: pytest.LogCaptureFixture) -> None:
    """What was thought by then counts."""
    hanging = AddingPreProcessor("never", instead=asyncio.Event().wait)
    with caplog.at_level(logging.WARNING):
        output = await ContextPipeline(
            [], [AddingPreProcessor("done"), hanging, AddingPreProcessor("not reached")]
        ).assemble(a_request(deadline_s=0.03), PLENTY)

    assert [c.text for c in output.request.preprocessor_contributions] == ["done"]
    assert caplog.messages == ["pre-processors cut short by the deadline"]


async def test_cancelling_a_turn_cancels_all_it_started() -> None:
    """Providers and chain; and nothing else."""
    provider, chain_began = WaitingProvider(), asyncio.Event()
    cut: list[str] = []

    async def hang() -> None:
        chain_began.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cut.append("chain")
            raise

    bystander = asyncio.create_task(asyncio.Event().wait())
    turn = asyncio.create_task(
        ContextPipeline([provider], [AddingPreProcessor(instead=hang)]).assemble(a_request(), PLENTY)
    )
    await provider.asked.wait()
    await chain_began.wait()
    turn.cancel()
    await asyncio.wait({turn})

    assert (turn.cancelled(), provider.cancelled, cut, bystander.done()) == (True, True, ["chain"], False)
    bystander.cancel()


# After the reply


async def test_post_processors_run_in_reverse_order() -> None:
    """Each on the text of the one before."""
    pipeline = ContextPipeline(
        [], (), [AppendingPostProcessor("a"), AppendingPostProcessor("b"), AppendingPostProcessor("c")]
    )

    assert await pipeline.run_post_processors("text", a_request()) == "text c b a"


@pytest.mark.parametrize("error", [ValueError("bug"), TimeoutError()])
async def test_a_failing_post_processor_is_passed_over(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    """The text goes on as it was, with a warning."""
    pipeline = ContextPipeline(
        [], (), [AppendingPostProcessor("a"), AppendingPostProcessor("broken", error), AppendingPostProcessor("c")]
    )
    with caplog.at_level(logging.WARNING):
        text = await pipeline.run_post_processors("text", a_request())

    assert text == "text c a"
    assert [r.levelno for r in caplog.records if "broken" in r.getMessage()] == [logging.WARNING]


async def test_without_post_processors_the_reply_is_unchanged() -> None:
    """Byte for byte."""
    assert await ContextPipeline([]).run_post_processors(" text\n", a_request()) == " text\n"


async def test_a_slow_post_processor_is_cut_and_the_rest_are_skipped() -> None:
    """They share what is left of the turn."""

    class Slow(AppendingPostProcessor):
        async def process(self, reply_text: str, request: ContextRequest) -> str:
            await asyncio.Event().wait()
            return "never"

    pipeline = ContextPipeline([], (), [AppendingPostProcessor("a"), Slow("slow")])

    assert await pipeline.run_post_processors("text", a_request(), time_left_s=0.01) == "text"


# The whole path


async def test_a_run_goes_from_request_to_text() -> None:
    """Assembled, rendered, closed by the tail, answered, tidied, post-processed."""
    model = ScriptedModel(["Wren: Hello Ada."])
    pipeline = ContextPipeline(
        [FixedProvider(a_piece("I am Wren.", Layer.character, directives=Directives(tail=("be brief",))))],
        [AddingPreProcessor("think")],
        [AppendingPostProcessor("!")],
        model=model,
        budget_by_layer=PLENTY,
        persona="Wren",
    )
    reply = await pipeline.run(a_request(deadline_s=30))

    assert reply.text == "Hello Ada. !"
    assert contents(model.calls[0])[1:] == ["think", "Ada: hello", "[System: be brief]"]
    assert contents(reply.messages) == contents(model.calls[0])
    assert [o.status for o in reply.output.outcomes] == ["ok"]
    assert isinstance(reply.output, PipelineOutput)
    assert isinstance(reply.output.outcomes[0], ProviderOutcome)


async def test_an_arranger_may_move_items_and_the_tail_still_comes_last() -> None:
    """It is asked once, after rendering."""

    class Reversing:
        def arrange(self, prompt: Prompt, request: ContextRequest) -> Prompt:
            return replace(prompt, items=tuple(reversed(prompt.items)))

    model = ScriptedModel(["ok"])
    given_ = a_piece("found", volatile=True, directives=Directives(tail=("end",)))
    pipeline = ContextPipeline([FixedProvider(given_)], model=model, budget_by_layer=PLENTY, arranger=Reversing())
    await pipeline.run(a_request())

    assert contents(model.calls[0])[0::3] == ["Ada: hello", "[System: end]"]


@in_simulated_time
async def test_assembly_leaves_the_model_its_time() -> None:
    """A hanging provider uses up its share of the deadline, not all of it."""
    model = ScriptedModel(["in time"])
    pipeline = ContextPipeline([WaitingProvider(deadline_s=60)], model=model, budget_by_layer=PLENTY)
    loop = asyncio.get_running_loop()
    began = loop.time()
    reply = await pipeline.run(a_request(deadline_s=0.5))

    assert reply.text == "in time"
    assert loop.time() - began == pytest.approx(0.3)


@in_simulated_time
async def test_a_silent_model_ends_with_the_turns_deadline() -> None:
    """The error says what happened."""
    model = ScriptedModel(["never"])
    model.pause_after(0)

    with pytest.raises(TurnDeadlineError, match="deadline"):
        await ContextPipeline([], model=model).run(a_request(deadline_s=0.05))


@in_simulated_time
async def test_a_reply_cut_by_the_deadline_ends_with_a_sentence() -> None:
    """What was said by then is used; there is no time left for polish."""
    model = ScriptedModel(["One. Two! And thr ee"])
    model.pause_after(4)
    reply = await ContextPipeline([], (), [AppendingPostProcessor("polish")], model=model).run(
        a_request(deadline_s=0.1)
    )

    assert reply.text == "One. Two!"


async def test_a_models_failure_leaves_as_itself() -> None:
    """The caller decides what to tell."""
    with pytest.raises(ModelError, match="down"):
        await ContextPipeline([], model=ScriptedModel([ModelError("down")])).run(a_request(deadline_s=5))


async def test_a_models_own_timeout_is_not_the_turns() -> None:
    """The turn still had time."""
    with pytest.raises(TimeoutError, match="socket"):
        await ContextPipeline([], model=ScriptedModel([TimeoutError("socket")])).run(a_request(deadline_s=5))


async def test_a_reply_can_be_heard_as_it_comes() -> None:
    """Afterwards all that is known of it stands on the reply."""
    model = ScriptedModel(["one two three"])
    live = await ContextPipeline([], model=model).start(a_request(deadline_s=5))
    pieces = [piece async for piece in live]

    assert (pieces, live.reply.text) == (["one", " two", " three"], "one two three")


@in_simulated_time
async def test_the_deadline_bounds_the_first_piece() -> None:
    """Silence until then is an error."""
    model = ScriptedModel(["never"])
    model.pause_after(0)
    live = await ContextPipeline([], model=model).start(a_request(deadline_s=0.05))

    with pytest.raises(TurnDeadlineError):
        await anext(aiter(live))


@in_simulated_time
async def test_the_deadline_bounds_nothing_but_the_first_piece() -> None:
    """A long answer may go on after it."""
    model = ScriptedModel(["one two"])
    pause = model.pause_after(1)
    live = await ContextPipeline([], model=model).start(a_request(deadline_s=1.0))
    pieces = aiter(live)
    first = await anext(pieces)
    asyncio.get_running_loop().call_later(1.05, pause.resume.set)

    assert (first, await anext(pieces)) == ("one", " two")


async def test_a_model_cannot_speak_for_those_who_are_there() -> None:
    """Neither for who is answered nor for who spoke earlier."""
    earlier = a_dialogue(replace(said("user", "Bo: hey"), sender=Sender(name="Bo")))
    for name in ("Ada", "Bo", "Cy", "User"):
        pending = (PendingTurn(replace(BO, display_name="Cy"), "psst"), PendingTurn(ADA, "hello"))
        model = ScriptedModel([f"Fine.\n{name}: and then"])
        pipeline = ContextPipeline([FixedProvider(earlier)], model=model, budget_by_layer=PLENTY)
        assert (await pipeline.run(a_request(pending_turns=pending))).text == "Fine."


async def test_the_opening_is_what_stands_before_the_new_message() -> None:
    """A model can read it ahead."""
    pipeline = ContextPipeline(
        [FixedProvider(a_piece("I am Wren.", Layer.character), a_dialogue(said("user", "Ada: one")))],
        model=ScriptedModel(),
        budget_by_layer=PLENTY,
    )

    assert contents(await pipeline.prompt_prefix(a_request()))[1:] == ["Ada: one"]


async def test_build_prompt_shows_everything_but_the_tail() -> None:
    """The last words stand beside the items."""
    brings = a_piece("found", tag=ItemTag.FOUND, directives=Directives(tail=("end",)))
    prompt = await ContextPipeline([FixedProvider(brings)], budget_by_layer=PLENTY).build_prompt(a_request())

    assert ([item.tag for item in prompt.items], prompt.directives.tail) == (
        [ItemTag.PREAMBLE, ItemTag.FOUND, ItemTag.DIALOGUE],
        ("end",),
    )


async def test_every_stage_leaves_its_mark_on_the_trace() -> None:
    """Outcomes, tokens per block and cuts, with no text."""
    trace = TraceBuilder(familiar_id="wren", channel_id=7, guild_id=None, modality="text")
    gone: Contribution = a_piece("secret " * 50, Layer.core, source="diary")
    pipeline = ContextPipeline(
        [FixedProvider(a_piece("here")), FailingProvider(OSError("disk")), FixedProvider(gone)],
        model=ScriptedModel(["Hi."]),
        budget_by_layer={Layer.content: 99},
    )
    await pipeline.run(a_request(), trace=trace)
    done = trace.finalize()

    assert [span.name for span in done.stages] == ["assemble", "render", "model"]
    assert [o["status"] for o in done.fact("provider_outcomes")] == ["ok", "error", "ok"]
    assert [b["source"] for b in done.fact("tokens_by_block")] == ["preamble", "test", "pending"]
    assert [n["source"] for n in done.stages[1].metadata["dropped"]] == ["diary"]
    assert "secret" not in str(done)


async def test_the_trace_tells_what_the_answering_model_was_sent() -> None:
    """A small model is spared the preamble; nothing is counted that it never saw."""
    trace = TraceBuilder(familiar_id="wren", channel_id=7, guild_id=None, modality="text")
    model = ScriptedModel(["Hi."], capabilities=Capabilities(bare_single_speaker=True))
    pipeline = ContextPipeline([FixedProvider(a_piece("here"))], model=model, budget_by_layer={Layer.content: 99})
    reply = await pipeline.run(a_request(), trace=trace)

    blocks = trace.finalize().fact("tokens_by_block")
    assert [(block["source"], block["message"]) for block in blocks] == [("test", 0), ("pending", 1)]
    assert len(reply.messages) == 2


def in_preset(fidelity: PresetFidelity) -> ContextRequest:
    node = PresetNode(identifier="x", content="From the preset.")
    active = ActivePreset(preset=Preset(name="p", prompts=(node,)), fidelity=fidelity)
    return a_request(preset=active, card=CardFields(name="Wren"))


async def test_as_sillytavern_only_character_and_history_are_asked() -> None:
    """C60: and no pre-processor thinks ahead."""
    character, history, other = (
        FixedProvider(id="character"),
        FixedProvider(id="history"),
        FixedProvider(id="content_search"),
    )
    thinking = AddingPreProcessor()
    pipeline = ContextPipeline([character, history, other], [thinking])

    await pipeline.build_prompt(in_preset(PresetFidelity.sillytavern))
    plain = [len(provider.asked) for provider in (character, history, other)], len(thinking.seen)
    await pipeline.build_prompt(in_preset(PresetFidelity.with_memory))

    assert plain == ([1, 1, 0], 0)
    assert (len(other.asked), len(thinking.seen)) == (1, 1)


async def test_each_is_asked_once_whether_a_preset_lays_out_the_prompt_or_not() -> None:
    """A1, A3: the preset fetches nothing."""
    provider = FixedProvider(a_piece("found", tag=ItemTag.FOUND))
    pipeline = ContextPipeline([provider], budget_by_layer=PLENTY, arranger=PresetArranger())

    prompt = await pipeline.build_prompt(in_preset(PresetFidelity.with_memory))

    assert len(provider.asked) == 1
    assert [item.text for item in prompt.items][1:3] == ["From the preset.", "found"]


async def test_a_preview_waits_for_every_provider() -> None:
    """However slow it is, so that the same request gives the same prompt."""

    class Late(FixedProvider):
        async def contribute(self, request: ContextRequest) -> list[Contribution]:
            for _ in range(20):
                await asyncio.sleep(0)
            return await super().contribute(request)

    provider = Late(a_piece("late"), deadline_s=0.0)
    pipeline = ContextPipeline([provider], model=ScriptedModel(), budget_by_layer=PLENTY)
    reply, _ = await pipeline.preview(a_request(deadline_s=0.001))
    hurried = await pipeline.assemble(a_request(deadline_s=0.001), PLENTY)

    assert [outcome.status for outcome in reply.output.outcomes] == ["ok"]
    assert "late" in reply.messages[0].content
    assert [outcome.status for outcome in hurried.outcomes] == ["timeout"]
