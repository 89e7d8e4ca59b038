// The design this project replaces: the official SDK on Express, stateless streamable HTTP. Every call reads the
// collection's files and encodes the pictures.
//
//   node server.js COLLECTION
//
// prints its address. A server and a transport per request, as the SDK's own stateless example has it.
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const collection = process.argv[2];

function newServer() {
  const server = new McpServer({ name: 'wakashu_mcp_server', version: '0.0.0' });
  server.registerTool(
    'get_wakashu_ranking',
    {
      title: '和歌集ランキング情報取得',
      description: '指定した回のランキングの投稿を、歌・本歌・プロンプト・画像とともに取得します。',
      inputSchema: {
        round_title: z.string().describe('回の名前。例: 第1回'),
        rank_range: z.string().regex(/^\d+(-\d+)?$/).default('1-3').describe('順位の範囲。例: 1-3'),
      },
    },
    async ({ round_title, rank_range }) => ({ content: await ranking(round_title, rank_range) }),
  );
  return server;
}

async function ranking(roundTitle, rankRange) {
  const [first, last = first] = rankRange.split('-').map(Number);
  const round = path.join(collection, path.basename(roundTitle));
  const ranks = (await readdir(round))
    .map((folder) => ({ folder, rank: Number.parseInt(folder, 10) }))
    .filter(({ rank }) => first <= rank && rank <= last)
    .sort((one, other) => one.rank - other.rank);
  const content = [];
  for (const { folder, rank } of ranks) {
    const entry = JSON.parse(await readFile(path.join(round, folder, `TextData${rank}.json`), 'utf8'));
    const picture = await readFile(path.join(round, folder, `Picture${rank}.webp`));
    const lines = [`${rank}位：${entry.AccountName}`, entry.HonkadoriWaka, ...entry.Honka];
    lines.push('ジャケット生成に使ったプロンプト', entry.Prompt);
    content.push({ type: 'text', text: lines.join('\n') });
    content.push({ type: 'image', data: picture.toString('base64'), mimeType: 'image/webp' });
  }
  return content;
}

const app = createMcpExpressApp();
app.post('/mcp', async (request, response) => {
  const server = newServer();
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
  response.on('close', () => {
    transport.close();
    server.close();
  });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
const listener = app.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${listener.address().port}/mcp`);
});
