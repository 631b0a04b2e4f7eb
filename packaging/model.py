"""A local model for the trial of the packages: it lists one model and gives one answer, in OpenAI's format.

Listens on Ollama's port of a network that is its own, and serves until it is ended.
"""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "Tomatoes are due today."


class Model(BaseHTTPRequestHandler):
    def send(self, kind, body):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        models = {"object": "list", "data": [{"id": "scripted", "object": "model"}]}
        self.send("application/json", json.dumps(models).encode())

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        deltas = [({"role": "assistant", "content": ANSWER}, None), ({}, "stop")]
        chunks = [
            {"id": "1", "object": "chat.completion.chunk", "model": "scripted",
             "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            for delta, reason in deltas
        ]
        lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks] + ["data: [DONE]\n\n"]
        self.send("text/event-stream", "".join(lines).encode())

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", 11434), Model).serve_forever()
