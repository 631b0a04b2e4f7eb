// A stand-in for SmartHole: it accepts a registration, delivers messages, and records notifications.
import { WebSocketServer } from "ws";

export class SmartHole {
  acked = [];
  shown = [];
  #clients = new Set();
  #server;

  static async start() {
    const smarthole = new SmartHole();
    smarthole.#server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    await new Promise((resolve) => smarthole.#server.once("listening", resolve));
    smarthole.port = smarthole.#server.address().port;
    smarthole.#server.on("connection", (socket) => smarthole.#serve(socket));
    return smarthole;
  }

  #serve(socket) {
    socket.on("message", (data) => {
      const { type, payload } = JSON.parse(String(data));
      if (type === "registration") {
        this.#clients.add(socket);
        socket.send(JSON.stringify({ type: "registration_response", payload: { success: true, clientId: "c1", message: "" } }));
      } else if (type === "response" && payload.type === "ack") {
        this.acked.push(payload.messageId);
      } else if (type === "response" && payload.type === "notification") {
        this.shown.push(payload.payload);
      }
    });
    socket.on("close", () => this.#clients.delete(socket));
  }

  get isRegistered() {
    return this.#clients.size > 0;
  }

  /** Sends a voice message. */
  say(id, text) {
    const payload = { id, text, timestamp: new Date().toISOString(), metadata: { inputMethod: "voice", directRouted: true } };
    for (const socket of this.#clients) socket.send(JSON.stringify({ type: "message", payload }));
  }

  stop() {
    this.#clients.forEach((socket) => socket.terminate());
    this.#server.close();
  }
}
