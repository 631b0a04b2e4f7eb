"""A guest by script: an agent that speaks ACP, and does what the last line of its prompt says.

    guest.py
"""

import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.request

write = threading.Lock()
answers, answered = {}, threading.Condition()
cancelled = threading.Event()
mcp = None


def send(message):
    with write:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def ask(method, params):
    """A request to the client, and its answer."""
    number = f"g{len(answers)}-{method}"
    send({"id": number, "method": method, "params": params})
    with answered:
        answered.wait_for(lambda: number in answers, 30)
    return answers.get(number)


class Mcp:
    """The MCP client of the session, on our server's stdin and stdout."""

    def __init__(self, entry):
        self.env = {one["name"]: one["value"] for one in entry["env"]}
        self.process = subprocess.Popen(
            [entry["command"], *entry["args"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **self.env},
            text=True,
        )
        self.number = 0
        introduced = self.call("initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                                              "clientInfo": {"name": "guest", "version": "1"}})
        self.serves = introduced["result"]["capabilities"]
        self.names = [tool["name"] for tool in self.call("tools/list", {})["result"]["tools"]]

    def call(self, method, params):
        self.number += 1
        line = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def tool(self, name, **arguments):
        answer = self.call("tools/call", {"name": name, "arguments": arguments})
        if "result" not in answer:
            return f"error {answer['error']}"
        texts = [part.get("text", part["type"]) for part in answer["result"]["content"]]
        return ("error " if answer["result"]["isError"] else "") + "\n".join(texts)


def say(text, kind="agent_message_chunk", session="s1", **more):
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": kind, "content": content, **more}
    send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def attempt(work):
    try:
        return work()
    except Exception as error:
        return f"failed: {type(error).__name__}"


def write_file(path):
    with open(path, "w") as file:
        file.write("by the guest itself\n")
    return "written"


def permission(title, kind, number="t1"):
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"},
               {"optionId": "n", "name": "No", "kind": "reject_once"}]
    call = {"toolCallId": number, "title": title, "kind": kind}
    if title:
        call["rawInput"] = {"command": title}
    return ask("session/request_permission", {"sessionId": "s1", "toolCall": call, "options": options})


def http(headers, path, body):
    port = mcp.env["STEWARD_GUEST"].split(" ")[0]
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
    return urllib.request.urlopen(request, timeout=10).status


def hostile():
    """Everything that a guest must not be able to do; says what came of it."""
    vault, state = os.environ["TEST_VAULT"], os.environ["TEST_STATE"]
    token = mcp.env["STEWARD_GUEST"].split(" ")[1]
    json_body = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    say("of another session", session="s2")
    send({"id": 999, "result": {"stopReason": "end_turn"}})
    listener = socket.create_server(("127.0.0.1", 0)) if os.environ.get("TEST_LISTEN") else None
    return {
        "fs": ask("fs/write_text_file", {"sessionId": "s1", "path": vault + "/Fs.md", "content": "x"}),
        "fs_read": ask("fs/read_text_file", {"sessionId": "s1", "path": vault + "/Recipes/Bread.md"}),
        "terminal": ask("terminal/create", {"sessionId": "s1", "command": "touch", "args": [vault + "/T.md"]}),
        "other_session": ask("session/request_permission", {"sessionId": "s2", "toolCall": {}, "options": []}),
        "write": attempt(lambda: write_file(vault + "/Own.md")),
        "read": attempt(lambda: open(vault + "/Recipes/Bread.md").read()),
        "list": attempt(lambda: os.listdir(vault)),
        "token": attempt(lambda: [open(state + "/" + one + "/token").read() for one in os.listdir(state)]),
        "home": attempt(lambda: write_file(os.environ["HOME"] + "/by-the-guest")),
        "empty": attempt(lambda: write_file(cwd + "/settings.json")),
        "scratch": attempt(lambda: write_file("scratch")),
        "config": attempt(lambda: write_file(os.environ["HOME"] + "/.guest/remembered")),
        "session_http": attempt(lambda: http(json_body, "/v1/sessions", b"{}")),
        "mcp_header": attempt(lambda: http(json_body, "/mcp", b"{}")),
        "prompts": mcp.call("prompts/list", {}),
        "resource": mcp.call("resources/read", {"uri": "vault:///Recipes/Bread.md"}),
        "unknown_tool": mcp.tool("send_message", text="x"),
        "environment": sorted(name for name in os.environ if "SECRET" in name),
        "listener": listener is not None,
    }


def work(text):
    word = text.strip().splitlines()[-1].split(" ")[0]
    usage = {"inputTokens": 100, "outputTokens": 20, "totalTokens": 120}
    if word == "edit":
        say("I look. ")
        say("Salt is to be 11 g.", "agent_thought_chunk")
        mcp.tool("read_file", path="Recipes/Bread.md")
        edited = mcp.tool("edit_file", path="Recipes/Bread.md", old_text="Salt 9 g", new_text="Salt 11 g")
        moved = mcp.tool("move", source="Recipes", destination="Kitchen")
        say("Done." if "error" not in edited + moved else edited + moved)
    elif word == "wait":
        say("Waiting.")
        mcp.tool("edit_file", path="Recipes/Bread.md", old_text="Salt 9 g", new_text="Salt 12 g")
        cancelled.wait(30)
        late = mcp.tool("edit_file", path="Recipes/Bread.md", old_text="Salt", new_text="Sugar")
        write_file_text("late", late)
        return {"stopReason": "cancelled"}
    elif word == "stubborn":
        say("Waiting.")
        threading.Event().wait()
    elif word == "ask":
        ours = permission("mcp__vault__read_file", "other")
        other = permission("rm -rf mcp__vault__read_file", "execute")
        # As Codex does: the question names only what was not said before.
        announced = {"sessionUpdate": "tool_call", "toolCallId": "t2", "kind": "execute",
                     "title": "mcp.vault.read_file", "_meta": {"is_mcp_tool_call": True},
                     "rawInput": {"server": "vault", "tool": "read_file", "arguments": {}}}
        send({"method": "session/update", "params": {"sessionId": "s1", "update": announced}})
        later = permission(None, "execute", "t2")
        say(json.dumps([one["result"]["outcome"] for one in (ours, other, later)]))
    elif word == "hostile":
        say(json.dumps(hostile()))
    elif word == "flood":
        while True:
            say("x" * 10_000)
    elif word == "line":
        with write:
            for _ in range(20):
                sys.stdout.write("x" * (1 << 20))
    elif word == "eat":
        # Not the whole machine's, should nobody end it.
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        held = []
        while True:
            held.append(b"x" * (8 << 20))
    elif word == "remark":
        say("Do", messageId="m1")
        say("ne.", messageId="m1")
        say("A remark.")
    elif word == "garbage":
        for number in range(50):
            with write:
                print(f"not a message {number}", flush=True)
        threading.Event().wait()
    elif word == "exit":
        print("boom", file=sys.stderr, flush=True)
        os._exit(3)
    elif word == "stamp":
        say(repr(time.time()))
    elif word == "history":
        say(text)
    elif word == "names":
        say(json.dumps({"tools": mcp.names, "cwd": os.listdir(cwd), "arguments": sys.argv[1:],
                        "serves": mcp.serves}))
    else:
        say("Hello ")
        say("from the guest.")
    return {"stopReason": "end_turn", "usage": usage}


def write_file_text(name, text):
    with open(name, "w") as file:
        file.write(text)


def prompt(number, params):
    cancelled.clear()
    text = "\n".join(block.get("text", "") for block in params["prompt"])
    send({"id": number, "result": work(text)})


for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        assert message["params"]["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}
        assert message["params"]["clientCapabilities"]["terminal"] is False
        can = {"loadSession": True} if os.path.exists("loads") else {}
        send({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": can}})
    elif method == "session/new":
        cwd = message["params"]["cwd"]
        mcp = Mcp(message["params"]["mcpServers"][0])
        with open("sessions", "a") as begun:
            begun.write("begun\n")
        modes = {"availableModes": [{"id": "swift"}, {"id": "careful"}], "currentModeId": "swift"}
        send({"id": number, "result": {"sessionId": "s1", "modes": modes}})
    elif method == "session/set_mode":
        write_file_text("mode", message["params"]["modeId"])
        send({"id": number, "result": {}})
    elif method == "session/load":
        assert message["params"]["sessionId"] == "s1" and os.path.exists("loads")
        if os.path.exists("forgets"):
            send({"id": number, "error": {"code": -32002, "message": "no such session"}})
            continue
        mcp = Mcp(message["params"]["mcpServers"][0])
        say("Replayed.")
        with open("sessions", "a") as begun:
            begun.write("loaded\n")
        send({"id": number, "result": None})
    elif method == "session/prompt":
        threading.Thread(target=prompt, args=(number, message["params"]), daemon=True).start()
    elif method == "session/cancel":
        cancelled.set()
    elif method is None:
        with answered:
            answers[number] = message
            answered.notify_all()
