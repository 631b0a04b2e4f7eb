// Listens on the ports of Ollama and SmartHole while tests run: `node strangers.mjs FILE`. A test that connects
// to one of them depends on the programs of the machine, so each connection is written to FILE. A port that is
// already in use is left alone.
import { appendFileSync, writeFileSync } from "node:fs";
import net from "node:net";
import process from "node:process";

const file = process.argv[2];
writeFileSync(file, "");
for (const port of [11434, 9473]) {
  const server = net.createServer((socket) => {
    appendFileSync(file, `a test connected to port ${port}\n`);
    socket.on("error", () => {});
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 35\r\n\r\n{"data":[{"id":"another\'s model"}]}\n');
  });
  server.on("error", () => {});
  server.listen(port, "127.0.0.1");
}
