// An ACP client with the SDK of the protocol's own authors: begins, agrees, is shown the diff, loads it again.
//
//   node acp.mjs VAULT COMMAND ARGUMENT...
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import { PROTOCOL_VERSION, client, methods, ndJsonStream } from '@agentclientprotocol/sdk';

const [vault, command, ...args] = process.argv.slice(2);
const { initialize, session } = methods.agent;
const agent = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const updates = [];
const asked = [];

await client({ name: 'a test' })
  .onNotification(methods.client.session.update, ({ params }) => void updates.push(params.update))
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    asked.push(params);
    return { outcome: { outcome: 'selected', optionId: params.options[0].optionId } };
  })
  .connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async (it) => {
    const opened = await it.request(initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
    assert.ok(opened.agentCapabilities.sessionCapabilities.close, 'it can close sessions');
    const place = { cwd: vault, mcpServers: [] };
    const { sessionId, modes } = await it.request(session.new, place);
    assert.equal(modes.currentModeId, 'ask');
    const prompt = [{ type: 'text', text: 'change it' }];
    assert.equal((await it.request(session.prompt, { sessionId, prompt })).stopReason, 'end_turn');
    assert.equal(asked[0].toolCall.content[0].type, 'diff');
    const isOver = (update) => update.sessionUpdate === 'tool_call_update' && update.status === 'completed';
    const diff = updates.find(isOver).content[0];
    assert.deepEqual([diff.oldText, diff.newText], ['one\ntwo\n', 'one\nthree\n']);
    updates.length = 0;
    await it.request(session.load, { sessionId, ...place });
    assert.deepEqual(updates.find(isOver).content[0], diff, 'the same after loading');
    const listed = await it.request(session.list, { cwd: vault });
    assert.equal(listed.sessions[0].sessionId, sessionId);
    await it.request(session.close, { sessionId });
    await it.request(session.delete, { sessionId });
    console.log('all went well');
  });
agent.stdin.end();
