// A host of the TypeScript SDK with a program or an address as its server: host.mjs REVISION COMMAND…|URL
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.MODULES}/`);
const sdk = name => import(pathToFileURL(require.resolve(`@modelcontextprotocol/client${name}`)));
const [{ Client, StreamableHTTPClientTransport }, { StdioClientTransport }] = [await sdk(''), await sdk('/stdio')];
const [revision, command, ...programArgs] = process.argv.slice(2);
const versionNegotiation = revision >= '2026-07-28' ? { mode: { pin: revision } } : undefined;
const client = new Client({ name: 'host', version: '1' }, { versionNegotiation });
const isAddress = command.startsWith('http://');
const overHttp = () => new StreamableHTTPClientTransport(new URL(command));
await client.connect(isAddress ? overHttp() : new StdioClientTransport({ command, args: programArgs }));
const { tools } = await client.listTools();
const args = { round_title: '第1回', rank_range: '1-3' };
const { content } = await client.callTool({ name: 'get_wakashu_ranking', arguments: args });
console.log(`${tools.length} tools, ${content.filter(part => part.type === 'image').length} pictures`);
await client.close();
