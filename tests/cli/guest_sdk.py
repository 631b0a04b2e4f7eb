"""A guest on the official SDK, which checks each message that it gets: edits a note with the tools of its MCP server.

    guest_sdk.py
"""

import asyncio
import json

import acp
from acp.helpers import update_agent_message_text, update_agent_thought_text
from acp.schema import (
    AgentCapabilities,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)


class Guest(acp.Agent):
    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **more):
        files = client_capabilities.fs
        assert not (files.read_text_file or files.write_text_file or client_capabilities.terminal)
        return InitializeResponse(protocol_version=1, agent_capabilities=AgentCapabilities())

    async def new_session(self, cwd, mcp_servers=None, **more):
        entry = mcp_servers[0]
        self.mcp = await asyncio.create_subprocess_exec(
            entry.command, *entry.args, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env={one.name: one.value for one in entry.env}, limit=1 << 22)
        self.number = 0
        await self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                      "clientInfo": {"name": "sdk", "version": "1"}})
        return NewSessionResponse(session_id="one")

    async def ask(self, method, params):
        self.number += 1
        line = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.mcp.stdin.write(json.dumps(line).encode() + b"\n")
        return json.loads(await self.mcp.stdout.readline())["result"]

    async def prompt(self, session_id, prompt, **more):
        await self.client.session_update(session_id, update_agent_thought_text("a is to be changed"))
        options = [PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
                   PermissionOption(option_id="no", name="No", kind="reject_once")]
        call = ToolCallUpdate(tool_call_id="t1", title="mcp__vault__edit_file")
        may = await self.client.request_permission(session_id, call, options)
        assert may.outcome.option_id == "yes", may
        change = {"path": "a", "old_text": "two", "new_text": "three"}
        edited = await self.ask("tools/call", {"name": "edit_file", "arguments": change})
        assert not edited["isError"], edited
        await self.client.session_update(session_id, update_agent_message_text("It is three."))
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id, **more):
        pass


asyncio.run(acp.run_agent(Guest()))
