// What the conformance suite lacks: it asks over HTTP alone, and shows no token.
//
//   bridge.mjs http PORT           passes each request on to the daemon at PORT, with the token in TOKEN
//   bridge.mjs stdio COMMAND ...   each message is a line to the command, each line of it a message
//
// Prints its own port once it listens. Messages are passed on as they are; ids alone are made unique for the one
// program that is behind all requests, and put back.
import { spawn } from 'node:child_process'
import http from 'node:http'
import { createInterface } from 'node:readline'

const [mode, ...rest] = process.argv.slice(2)
const handle = mode === 'http' ? passing(Number(rest[0])) : speaking(rest)
const server = http.createServer((request, response) => handle(request, response))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))

function passing(port) {
  // Host and Origin are judged by the daemon, so this port stands for its.
  const turned = (value) => value?.replace(/^((?:https?:\/\/)?(?:localhost|127\.0\.0\.1|\[::1\])):\d+$/, `$1:${port}`)
  return (request, response) => {
    const { method, url: path } = request
    const headers = { ...request.headers, authorization: `Bearer ${process.env.TOKEN}` }
    headers.host = turned(headers.host)
    if (headers.origin) headers.origin = turned(headers.origin)
    const onward = http.request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
    })
    onward.on('error', () => response.writeHead(502).end())
    response.on('close', () => onward.destroy())
    request.pipe(onward)
  }
}

function speaking([command, ...args]) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map()
  let last = 0
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line)
    const token = message.params?.progressToken
    const subscription = message.params?._meta?.['io.modelcontextprotocol/subscriptionId']
    for (const [id, asked] of waiting) {
      if (message.method === undefined && message.id === id) {
        waiting.delete(id)
        asked.tell({ ...message, id: asked.id })
        asked.response.end()
      } else if (message.method !== undefined && (token === asked.token || subscription === id)) {
        const named = subscription === id
        const meta = { ...message.params._meta, 'io.modelcontextprotocol/subscriptionId': asked.id }
        asked.tell(named ? { ...message, params: { ...message.params, _meta: meta } } : message)
      }
    }
  })
  const say = (message) => child.stdin.write(`${JSON.stringify(message)}\n`)
  return async (request, response) => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    let text = ''
    for await (const piece of request) text += piece
    const message = JSON.parse(text)
    if (message.method === undefined || message.id === undefined) {
      say(message)
      return response.writeHead(202).end()
    }
    const id = (last += 1)
    const tell = (said) => {
      if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: message\ndata: ${JSON.stringify(said)}\n\n`)
    }
    waiting.set(id, { id: message.id, token: message.params?._meta?.progressToken ?? Symbol('none'), response, tell })
    response.on('close', () => {
      if (waiting.delete(id)) say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
    })
    say({ ...message, id })
  }
}
process.stdin.resume().on('end', () => process.exit())
