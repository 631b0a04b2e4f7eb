"""An ACP client that this project did not write begins a conversation, agrees, loads it again.

    client.py VAULT COMMAND ARGUMENT...
"""

import asyncio
import json
import os
import sys

import acp
from acp.schema import (
    AllowedOutcome,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    RequestPermissionRequest,
    RequestPermissionResponse,
    SessionNotification,
)
from acp.stdio import spawn_agent_process

VAULT = sys.argv[1]


class Client(acp.Client):
    def __init__(self):
        self.updates, self.asked, self.others = [], [], []

    async def session_update(self, session_id, update, **more):
        self.updates.append(update)

    async def request_permission(self, options, session_id, tool_call, **more):
        self.asked.append(tool_call)
        kinds = [option.kind for option in options]
        assert kinds == ["allow_once", "reject_once"], kinds
        chosen = AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        return RequestPermissionResponse(outcome=chosen)

    async def ext_method(self, method, params):
        self.others.append(method)
        return {}

    async def ext_notification(self, method, params):
        self.others.append(method)


def exact(model, message):
    """Fails where the schema would pass over what it does not know how to read."""
    read = model.model_validate(message).model_dump(mode="json", by_alias=True, exclude_none=True)
    for key, value in message.items():
        if value is not None and key != "_meta":
            assert key in read, (model.__name__, key, message)


async def strictly(command):
    """The same by hand, each message held against the schema."""
    process = await asyncio.create_subprocess_exec(
        *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    seen, last = set(), 0

    async def ask(method, params, model):
        nonlocal last
        last += 1
        message = {"jsonrpc": "2.0", "id": last, "method": method, "params": params}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        while True:
            told = json.loads(await asyncio.wait_for(process.stdout.readline(), 20))
            if told.get("method") == "session/update":
                exact(SessionNotification, told["params"])
                seen.add(told["params"]["update"]["sessionUpdate"])
            elif told.get("method") == "session/request_permission":
                exact(RequestPermissionRequest, told["params"])
                chosen = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
                answer = {"jsonrpc": "2.0", "id": told["id"], "result": chosen}
                process.stdin.write(json.dumps(answer).encode() + b"\n")
            elif told.get("id") == last and "method" not in told:
                assert "result" in told, told
                exact(model, told["result"])
                return told["result"]
            else:
                assert told.get("method") == "$/cancel_request", told

    terminal = {"auth": {"terminal": True}}
    opened = await ask(
        "initialize", {"protocolVersion": 1, "clientCapabilities": terminal}, InitializeResponse
    )
    assert opened["authMethods"][0]["type"] == "terminal", opened
    place = {"cwd": VAULT, "mcpServers": []}
    session = (await ask("session/new", place, NewSessionResponse))["sessionId"]
    said = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
    await ask("session/prompt", said, acp.schema.PromptResponse)
    await ask("session/load", {"sessionId": session, **place}, LoadSessionResponse)
    process.stdin.close()
    assert await process.wait() == 0
    assert {"available_commands_update", "agent_message_chunk", "user_message_chunk"} <= seen, seen


async def main():
    command = sys.argv[2:]
    client = Client()
    # Its own choice would leave out what keeps tests from the ports of other programs.
    async with spawn_agent_process(client, *command, env=dict(os.environ)) as (agent, process):
        opened = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION)
        assert opened.agent_capabilities.session_capabilities.resume is not None, opened
        begun = await agent.new_session(cwd=VAULT, mcp_servers=[])
        assert begun.modes.current_mode_id == "ask", begun
        assert [option.id for option in begun.config_options] == ["mode", "model"], begun
        end = await agent.prompt(session_id=begun.session_id, prompt=[acp.text_block("change it")])
        assert end.stop_reason == "end_turn", end
        assert client.asked[0].content[0].type == "diff", client.asked
        done = [one for one in client.updates if getattr(one, "status", None) == "completed"]
        assert done[0].content[0].type == "diff" and done[0].locations[0].line == 2, done
        listed = await agent.list_sessions(cwd=VAULT)
        assert [one.session_id for one in listed.sessions] == [begun.session_id], listed
        await agent.set_session_mode(session_id=begun.session_id, mode_id="plan")
        await agent.prompt(session_id=begun.session_id, prompt=[acp.text_block("propose it")])
        assert len(client.asked) == 1, client.asked
        await agent.prompt(session_id=begun.session_id, prompt=[acp.text_block("/apply")])
        assert client.asked[1].content[0].type == "diff", client.asked
        told = [one for one in client.updates if one.session_update == "agent_message_chunk"]
        assert told[-1].content.text.startswith("Applied 1 of 1."), told
        await agent.set_session_mode(session_id=begun.session_id, mode_id="read-only")
        client.updates.clear()
        loaded = await agent.load_session(cwd=VAULT, mcp_servers=[], session_id=begun.session_id)
        assert loaded.modes.current_mode_id == "read-only", loaded
        assert [one for one in client.updates if one.session_update == "user_message_chunk"]
        await agent.resume_session(cwd="/elsewhere", mcp_servers=[], session_id=begun.session_id)
        await agent.close_session(session_id=begun.session_id)
        assert not client.others, client.others
    await strictly(command)
    print("all went well")


asyncio.run(main())
