// A host for the official suite's client scenarios: the TypeScript SDK on standard input and output, with
// `wakashu bridge URL` between it and the suite's server. The suite appends URL to the command and names the scenario in
// the environment. WAKASHU is the program; the SDK comes from the folder MODULES.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const require = createRequire(`${process.env.MODULES}/`);
const sdk = name => import(pathToFileURL(require.resolve(`@modelcontextprotocol/client${name}`)));
const [{ Client }, { StdioClientTransport }] = [await sdk(''), await sdk('/stdio')];

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25';
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const isModern = revision >= '2026-07-28';

const client = new Client(
  { name: 'conformance-host', version: '1.0.0' },
  {
    capabilities: { elicitation: { form: { applyDefaults: true } } },
    versionNegotiation: isModern ? { mode: 'auto' } : undefined,
  },
);
client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { confirmed: true } }));

const transport = new StdioClientTransport({
  command: process.env.WAKASHU,
  args: ['bridge', process.argv.at(-1)],
  stderr: 'inherit',
});
await client.connect(transport);

const call = async (name, args) => {
  try {
    return await client.callTool({ name, arguments: args });
  } catch (error) {
    console.error(`${name}: ${error}`);
  }
};

const { tools } = await client.listTools();
const has = name => tools.some(tool => tool.name === name);
if (context.toolCalls) {
  for (const { name, arguments: args } of context.toolCalls) if (has(name)) await call(name, args);
} else if (scenario === 'sep-2322-client-request-state') {
  // Side by side, as the states of requests must not mix.
  await Promise.all(tools.map(({ name }) => call(name, {})));
} else if (scenario === 'json-schema-2020-12-preservation') {
  await call('json_schema_echo', { schema: tools.find(tool => tool.name === 'json_schema_2020_12_tool').inputSchema });
} else {
  for (const { name, inputSchema } of tools) await call(name, example(inputSchema));
}
await client.close();

function example(schema) {
  const of = { string: 'text', number: 1, integer: 1, boolean: true, array: [], object: {} };
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, { type }]) => [name, of[type] ?? 'text']));
}
