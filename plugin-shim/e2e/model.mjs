// A model server under the test's control: it speaks OpenAI's chat completions, streams scripted answers, and
// records the requests.
import http from "node:http";

export class Model {
  requests = [];
  #scripts = [];
  #server;

  /** Starts the server on a free local port. */
  static async start() {
    const model = new Model();
    model.#server = http.createServer((request, response) => void model.#answer(request, response));
    await new Promise((resolve) => model.#server.listen(0, "127.0.0.1", resolve));
    model.port = model.#server.address().port;
    return model;
  }

  /** Scripts for the next requests, one each: `async (turn, request) => …`. */
  next(...scripts) {
    this.#scripts.push(...scripts);
  }

  get left() {
    return this.#scripts.length;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request, response) {
    let body = "";
    for await (const chunk of request) body += chunk;
    if (!request.url.endsWith("/chat/completions")) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ object: "list", data: [{ id: "one" }, { id: "two" }] }));
      return;
    }
    const asked = JSON.parse(body);
    this.requests.push(asked);
    const script = this.#scripts.shift() ?? ((turn) => turn.text("Noted."));
    const turn = new Turn(response);
    try {
      await script(turn, asked);
      turn.end();
    } catch (error) {
      console.error("the model's script failed:", error);
      response.destroy();
    }
  }
}

/** One answer of the model. */
class Turn {
  #response;
  #calls = 0;
  #isOver = false;

  constructor(response) {
    this.#response = response;
  }

  /** Answers with a server error. */
  fail() {
    this.#isOver = true;
    this.#response.writeHead(400, { "content-type": "application/json" });
    this.#response.end(JSON.stringify({ error: { message: "the model is not well" } }));
  }

  #send(delta, rest = {}) {
    if (!this.#response.headersSent) this.#response.writeHead(200, { "content-type": "text/event-stream" });
    this.#response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, ...rest }] })}\n\n`);
  }

  text(content) {
    this.#send({ content });
  }

  thought(reasoning_content) {
    this.#send({ reasoning_content });
  }

  call(name, given) {
    const index = this.#calls++;
    const id = `call_${Math.random().toString(36).slice(2)}`;
    const call = { index, id, type: "function", function: { name, arguments: JSON.stringify(given) } };
    this.#send({ tool_calls: [call] });
  }

  end() {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#send({}, { finish_reason: this.#calls > 0 ? "tool_calls" : "stop" });
    const usage = { prompt_tokens: 12_340, completion_tokens: 321 };
    this.#response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
  }
}

/** A promise that a script awaits until the test opens the gate. */
export function gate() {
  const made = {};
  made.opened = new Promise((resolve) => {
    made.open = resolve;
  });
  return made;
}
