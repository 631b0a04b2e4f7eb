"""An MCP client that this project did not write lists, reads, edits and undoes, in both eras.

    client.py URL                 over HTTP, with the token in STEWARD_TOKEN
    client.py COMMAND ARGUMENT... over stdin and stdout
"""

import asyncio
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ResourceTemplateReference


def transport(place):
    if place[0].startswith("http"):
        token = {"Authorization": f"Bearer {os.environ['STEWARD_TOKEN']}"}
        return streamable_http_client(place[0], http_client=httpx2.AsyncClient(headers=token))
    server = StdioServerParameters(command=place[0], args=place[1:], env=dict(os.environ))
    return stdio_client(server)


async def work(place, mode):
    async with Client(transport(place), mode=mode) as client:

        async def call(tool, **arguments):
            answer = await client.call_tool(tool, arguments)
            assert answer.structured_content is None, answer
            return answer.is_error, answer.content[0].text

        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["read_file"].annotations.read_only_hint, tools
        assert "one" in (await call("read_file", path="A"))[1]
        failed, text = await call("read_file", path="nowhere")
        assert failed and text.startswith("not_found: "), text
        failed, text = await call("edit_file", path="a", old_text="one", new_text="two")
        assert not failed, text
        assert "two" in (await call("read_file", path="a"))[1]
        failed, text = await call("undo")
        assert not failed, text
        assert "one" in (await call("read_file", path="a"))[1]
        failed, text = await call("write_file", path="Round/new", content="see [[a]]\n")
        assert not failed, text
        failed, text = await call("move", source="Round", destination="Moved")
        assert not failed, text
        assert "see" in (await call("read_file", path="Moved/new"))[1]
        for _ in range(2):
            failed, text = await call("undo")
            assert not failed, text
        assert (await call("read_file", path="Round/new"))[0]
        [resource] = [one for one in (await client.list_resources()).resources if one.name == "a.md"]
        [content] = (await client.read_resource(resource.uri)).contents
        assert content.text == "one\n" and content.mime_type == "text/markdown", content
        [template] = (await client.list_resource_templates()).resource_templates
        reference = ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
        completed = await client.complete(reference, {"name": "path", "value": "a"})
        assert "a.md" in completed.completion.values, completed
        assert (await client.list_prompts()).prompts[0].name == "daily"
        prompt = await client.get_prompt("daily", {"date": "1999-01-02"})
        assert "1999-01-02" in prompt.messages[0].content.text, prompt
        print(mode, client.protocol_version, len(tools))


for mode in ("auto", "legacy"):
    asyncio.run(work(sys.argv[1:], mode))
