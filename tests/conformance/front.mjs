// Stands between the official suite, whose server scenarios speak HTTP, and `wakashu bridge`, which speaks lines:
// suite → this → bridge → server. One bridge serves all scenarios, as the server behind it keeps no sessions.
//
// usage: node front.mjs PROGRAM URL; prints its own address.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const [program, url] = process.argv.slice(2);
const bridge = spawn(program, ['bridge', url], { stdio: ['pipe', 'pipe', 'inherit'] });
const waiting = new Map();
let asked = 0;
createInterface({ input: bridge.stdout }).on('line', line => {
  const message = JSON.parse(line);
  const { id, answer } = waiting.get(message.id) ?? {};
  if (message.method || !answer) return;
  waiting.delete(message.id);
  answer({ ...message, id });
});
const write = message => bridge.stdin.write(`${JSON.stringify(message)}\n`);

const server = createServer(async (request, response) => {
  const end = (status, body) => response.writeHead(status, { 'content-type': 'application/json' }).end(body);
  if (request.method !== 'POST') return end(405);
  let text = '';
  for await (const piece of request) text += piece;
  const message = JSON.parse(text);
  if (message.id === undefined || !message.method) {
    write(message);
    return end(202);
  }
  // Several connections of the suite count from 0.
  const id = `front-${++asked}`;
  const answer = await new Promise(answer => {
    waiting.set(id, { id: message.id, answer });
    write({ ...message, id });
  });
  end(200, JSON.stringify(answer));
});
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
process.on('SIGTERM', () => {
  bridge.stdin.end();
  process.exit(0);
});
