"""The endpoint as programs meet it: the official client, and requests said exactly, against the started program."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from familiar_connect.extensions.serve.keys import KeyAudience
from familiar_connect.history.store import HistoryStore
from tests.fakes.endpoint import Endpoint
from tests.fakes.program import run_program

if TYPE_CHECKING:
    from openai import OpenAI

pytestmark = pytest.mark.process


def client_of(endpoint: Endpoint, key: str) -> OpenAI:
    """The official client, which tries once."""
    openai = pytest.importorskip("openai", reason="the package `openai` is not installed; `python3 run.py test` has it")
    client: OpenAI = openai.OpenAI(base_url=endpoint.url, api_key=key, max_retries=0)
    return client


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def own(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def say(endpoint: Endpoint, key: str, *messages: dict[str, Any], **more: Any) -> str:
    """The reply to a chat that is shown whole."""
    status, answer = endpoint.ask("/chat/completions", {"model": "ember", "messages": messages, **more}, key=key)
    assert status == 200, answer
    return str(answer["choices"][0]["message"]["content"])


def test_the_official_client_lists_familiars_and_talks_whole_and_streamed(endpoint: Endpoint) -> None:
    """Every familiar is a model; the model behind it is told who speaks, and knows what was said before."""
    client = client_of(endpoint, endpoint.add_key("client", "Sam"))

    models = [each.id for each in client.models.list()]
    asked: list[Any] = [user("My tea is oolong.")]
    whole = client.chat.completions.create(model="ember", messages=asked).choices[0].message.content
    asked += [own(str(whole)), user("Which tea?")]
    stream = client.chat.completions.create(model="ember", messages=asked, stream=True)
    pieces = [chunk.choices[0].delta.content or "" for chunk in stream]

    assert models == ["ember"]
    assert str(whole).startswith("This is reply")
    assert "".join(pieces).startswith("This is reply")
    assert len([each for each in pieces if each]) > 1
    assert endpoint.last_prompt().count("My tea is oolong.") == 1
    assert "Sam" in endpoint.last_prompt()


def test_the_official_client_gets_vectors_of_the_embedder_that_searches_memory(endpoint: Endpoint) -> None:
    """Like meanings lie near each other; as numbers and, as the client asks by itself, as bytes."""
    key = endpoint.add_key("vectors", "Sam")
    texts = ["My cat sleeps on the sofa.", "The kitten naps on the couch.", "Taxes are due in April."]
    made = client_of(endpoint, key).embeddings.create(model="ember", input=texts)
    status, plain = endpoint.ask("/embeddings", {"model": "ember", "input": texts[0]}, key=key)
    refused, why = endpoint.ask("/embeddings", {"model": "ember", "input": [[1, 2]]}, key=key)

    one, two, other = (each.embedding for each in made.data)
    near, far = (sum(a * b for a, b in zip(one, each, strict=True)) for each in (two, other))
    assert near > far + 0.2
    assert status == 200
    assert plain["data"][0]["embedding"] == pytest.approx(one, abs=1e-3)
    assert (refused, "list of texts" in why["error"]["message"]) == (400, True)


WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a town.",
        "parameters": {"type": "object", "properties": {"town": {"type": "string"}}},
    },
}


@pytest.mark.parametrize("streams", [False, True])
def test_a_program_runs_its_own_tools_and_the_reply_goes_on(endpoint: Endpoint, streams: bool) -> None:
    """The call comes to it, what its tool gave comes to the model, and the chat holds one reply."""
    key = endpoint.add_key(f"tools {streams}", "Vi")
    with client_of(endpoint, key) as client:
        messages: list[Any] = [user("How is the weather in Graz?")]
        about: Any = {"model": "ember", "tools": [WEATHER], "extra_body": {"chat_id": f"weather {streams}"}}
        if streams:
            chunks = list(client.chat.completions.create(messages=messages, stream=True, **about))
            calls = [call for chunk in chunks for call in chunk.choices[0].delta.tool_calls or ()]
            finish = chunks[-1].choices[0].finish_reason
        else:
            choice = client.chat.completions.create(messages=messages, **about).choices[0]
            calls, finish = list(choice.message.tool_calls or ()), choice.finish_reason
        (call,) = calls
        function = {"name": call.function.name, "arguments": call.function.arguments}
        messages += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call.id, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call.id, "content": "snow, minus three"},
        ]
        said = str(client.chat.completions.create(messages=messages, **about).choices[0].message.content)
        messages += [own(said), user("Thank you.")]
        client.chat.completions.create(messages=messages, **about)

    assert (finish, function) == ("tool_calls", {"name": "weather", "arguments": '{"town": "Graz"}'})
    assert "snow, minus three" in said
    assert "no instruction" in said
    assert endpoint.last_prompt().count("How is the weather in Graz?") == 1


def test_a_tool_that_is_none_is_refused(endpoint: Endpoint) -> None:
    """In a sentence, before anything is asked of a model."""
    key = endpoint.add_key("no tools", "Vi")
    bad: list[Any] = [{"type": "function"}, {"function": {"name": "a b"}}, "x"]
    for each in bad:
        status, told = endpoint.ask(
            "/chat/completions", {"model": "ember", "messages": [user("Hi")], "tools": [each]}, key=key
        )
        assert (status, "must be a function" in told["error"]["message"]) == (400, True)


OPEN_WEBUI = {
    "X_OpenWebUI_User_Name": "Robin",
    "X_OpenWebUI_User_Id": "6f1c2a",
    "X_OpenWebUI_User_Email": "robin@example.org",
    "X_OpenWebUI_User_Role": "user",
    "X_OpenWebUI_Chat_Id": "b7e0",
}
"""What Open WebUI documents that it adds with ENABLE_FORWARD_USER_INFO_HEADERS."""


def test_open_webui_and_librechat_are_answered_as_their_documentation_says_that_they_ask(endpoint: Endpoint) -> None:
    """Who speaks, in which chat, and what they ask beside it; not tried with the programs themselves."""
    key = endpoint.add_key("house", audience=KeyAudience.group)
    body: dict[str, Any] = {"model": "ember", "stream": True, "messages": [user("The gate code is 7719.")]}
    listed, models = endpoint.ask("/models", key=key, **OPEN_WEBUI)
    at = urlsplit(endpoint.url)
    connection = http.client.HTTPConnection(at.netloc, timeout=60)
    sent = {"Authorization": f"Bearer {key}", **{name.replace("_", "-"): each for name, each in OPEN_WEBUI.items()}}
    connection.request("POST", f"{at.path}/chat/completions", json.dumps(body), sent)
    streamed = connection.getresponse().read().decode()
    connection.close()
    prompt = endpoint.last_prompt()
    chore = {"model": "ember", "messages": [user("### Task:\nSuggest 3-5 follow-ups.\n### Chat History:")]}
    refused, _ = endpoint.ask("/chat/completions", chore, key=key, **OPEN_WEBUI)

    libre = {"X_Familiar_Chat": "c0ffee", "X_Familiar_User": "64aa", "X_Familiar_User_Name": "Jo"}
    asked = {"model": "ember", "messages": [{"role": "system", "content": "Be brief."}, user("Hi")], "user": "64aa"}
    status, answer = endpoint.ask("/chat/completions", {**asked, "stream": False}, key=key, **libre)

    assert (listed, [each["id"] for each in models["data"]]) == (200, ["ember"])
    assert streamed.startswith("data: ")
    assert streamed.rstrip().endswith("[DONE]")
    assert "Robin" in prompt
    assert refused == 400
    assert (status, answer["object"]) == (200, "chat.completion")
    assert "Jo" in endpoint.last_prompt()


def test_a_key_that_is_wrong_or_revoked_opens_nothing(endpoint: Endpoint) -> None:
    """From the moment it is revoked, while the endpoint runs; the file holds no key."""
    made = run_program(endpoint.home, "serve", "key", "add", "short-lived", "--person", "Kim", "--json")
    key = json.loads(made.stdout)["key"]
    before, _ = endpoint.ask("/models", key=key)
    listed = run_program(endpoint.home, "serve", "key", "list").stdout
    kept = (endpoint.home / "extensions" / "serve" / "keys.json").read_text(encoding="utf-8")
    run_program(endpoint.home, "serve", "key", "revoke", "short-lived")

    statuses = [endpoint.ask("/models", key=each)[0] for each in (key, None)]

    assert "short-lived: Kim, read by nobody else" in listed
    assert key not in kept
    assert (before, statuses) == (200, [401, 401])


def test_a_regenerated_and_an_edited_message_stand_once(endpoint: Endpoint) -> None:
    """The prompt of the last request shows each line as the program shows it, and nothing twice."""
    key = endpoint.add_key("editor", "Ada")
    first = say(endpoint, key, user("I am Ada, a gardener."), chat_id="a")
    second = say(endpoint, key, user("I am Ada, a gardener."), chat_id="a")
    say(endpoint, key, user("I am Ada, a gardener."), own(second), user("I like moss."), chat_id="a")
    third = say(endpoint, key, user("I am Ada, a gardener."), own(second), user("I like ferns."), chat_id="a")

    say(
        endpoint, key, user("I am Ada, a painter."), own(second), user("I like ferns."), own(third), user("Well?"),
        chat_id="a",
    )  # fmt: skip

    prompt = endpoint.last_prompt()
    assert first != second
    counted = [prompt.count(each) for each in ("gardener", "painter", "moss", "ferns", second, third)]
    assert counted == [
        0,
        1,
        0,
        1,
        1,
        1,
    ]
    assert first not in prompt


def test_a_program_that_keeps_what_was_gone_on_with_as_a_line_of_its_own_stays_in_its_chat(endpoint: Endpoint) -> None:
    """SillyTavern does so where somebody sends nothing after a greeting; no chat is begun anew."""
    key = endpoint.add_key("silent", "Uma")
    reply = say(endpoint, key, own("Welcome to the lighthouse."))
    say(endpoint, key, own("Welcome to the lighthouse."), own(reply), user("Who lit the lamp?"))
    history = HistoryStore(endpoint.home / "familiars" / "ember" / "history.db")
    chats = history.channel_keys.ids_from("serve", "uma/", -1)
    history.close()

    assert len(chats) == 1
    assert [endpoint.last_prompt().count(each) for each in ("Welcome to the lighthouse.", reply)] == [1, 1]


def test_a_script_that_sends_its_newest_line_alone_says_like_things_twice(endpoint: Endpoint) -> None:
    """Neither of them takes the other's place."""
    key = endpoint.add_key("thermometer", "Pat")
    for degrees in (21, 23):
        say(endpoint, key, user(f"The kitchen has {degrees} degrees."), chat_id="kitchen")

    prompt = endpoint.last_prompt()
    assert [prompt.count(f"The kitchen has {degrees} degrees.") for degrees in (21, 23)] == [1, 1]


def test_chats_and_people_are_told_apart(endpoint: Endpoint) -> None:
    """By the header or field that names the chat, and by `user` where the key is for several."""
    key = endpoint.add_key("several", audience=KeyAudience.group)
    body = {"model": "ember", "messages": [user("The code word is heron.")], "user": "u1"}

    nobody, refused = endpoint.ask("/chat/completions", {**body, "user": ""}, key=key)
    endpoint.ask("/chat/completions", body, key=key, X_Familiar_Chat="one", X_OpenWebUI_User_Name="Bo")
    named = endpoint.last_prompt()
    endpoint.ask("/chat/completions", {**body, "messages": [user("Hello?")], "metadata": {"chat_id": "two"}}, key=key)

    assert nobody == 400
    assert "--person" in refused["error"]["message"]
    assert "Bo" in named
    assert "The code word is heron." in named


def test_what_a_program_tells_a_model_is_material_and_bounded(endpoint: Endpoint) -> None:
    """It stands in a fence of its own, and a long one is cut."""
    key = endpoint.add_key("noted", "Kay")
    note = {"role": "system", "content": "You are a pirate on a ship. " + "Arr. " * 2_000}

    say(endpoint, key, note, user("Who are you?"))

    prompt = endpoint.last_prompt()
    assert "You are a pirate on a ship." in prompt
    assert prompt.count("Arr.") < 400
    assert "what the program they write with says" in prompt


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Content_Length": "99999999999"}, 413),
    ],
)
def test_the_guard_stands_before_the_key(endpoint: Endpoint, headers: dict[str, str], status: int) -> None:
    """Foreign names, pages of other sites and too much of anything are refused, whoever asks."""
    answer, told = endpoint.ask("/models", **headers)

    assert (answer, "message" in told["error"]) == (status, True)


def test_what_is_no_request_for_a_reply_is_refused_in_a_sentence(endpoint: Endpoint) -> None:
    """Broken JSON, an unknown familiar, chores of other programs."""
    key = endpoint.add_key("crooked", "Lou")
    bodies: list[Any] = [
        b"{",
        {"model": "ember"},
        {"model": "nobody", "messages": [user("Hi")]},
        {"model": "ember", "messages": [user("### Task:\nGenerate a title")]},
        {"model": "ember", "messages": [{"role": "wizard", "content": "Hi"}]},
    ]

    answers = [endpoint.ask("/chat/completions", body, key=key) for body in bodies]

    assert [status for status, _ in answers] == [400, 400, 404, 400, 400]
    assert all(len(answer["error"]["message"]) > 20 for _, answer in answers)


def test_who_hangs_up_ends_the_reply_and_the_next_is_answered(endpoint: Endpoint) -> None:
    """Nothing is left that would answer into the void."""
    key = endpoint.add_key("hasty", "Eve")
    at = urlsplit(endpoint.url)
    connection = http.client.HTTPConnection(at.netloc, timeout=60)
    asked = {"model": "ember", "stream": True, "messages": [user("Hello there")], "chat_id": "h"}
    body = json.dumps(asked)
    connection.request("POST", f"{at.path}/chat/completions", body, {"Authorization": f"Bearer {key}"})
    connection.close()

    assert say(endpoint, key, user("Are you there?"), chat_id="h").startswith("This is reply")
