// A host as others write them: ext-apps' own AppBridge in front of a real MCP client, the view in a sandbox on another origin.
// The driver reaches it as `window.host`.
import { AppBridge, PostMessageTransport, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const TYPE = "text/html;profile=mcp-app";
const ALL = { openLinks: {}, serverTools: {}, serverResources: {}, logging: {}, message: { text: {} }, updateModelContext: { text: {} } };

window.host = {
  /** What the view asked for, in order. */
  seen: [],
  bridge: null,

  async connect(server, era) {
    const options = { capabilities: { extensions: { "io.modelcontextprotocol/ui": { mimeTypes: [TYPE] } } } };
    if (era === "modern") options.versionNegotiation = { mode: "auto" };
    this.client = new Client({ name: "a host", version: "1" }, options);
    await this.client.connect(new StreamableHTTPClientTransport(new URL(server)));
    const { tools } = await this.client.listTools();
    this.tools = tools;
    const { resources } = await this.client.listResources();
    const uri = getToolUiResourceUri(tools.find((tool) => tool.name === "get_poem"));
    const { contents } = await this.client.readResource({ uri });
    this.html = contents[0].text;
    return {
      revision: this.client.getNegotiatedProtocolVersion?.() ?? null,
      capabilities: this.client.getServerCapabilities(),
      uris: tools.map((tool) => [tool.name, getToolUiResourceUri(tool) ?? null]),
      listed: resources.find((resource) => resource.uri === uri),
      read: { ...contents[0], text: contents[0].text.length },
    };
  },

  /** Shows the view. Nothing is sent to it yet but the answer to its `ui/initialize`. */
  async show(sandbox, { width = 720, height = 150, capabilities = ALL, context = {}, before = null } = {}) {
    this.seen = [];
    this.listening?.abort();
    const { signal } = (this.listening = new AbortController());
    document.querySelector("iframe")?.remove();
    // Frames from elsewhere do not take part in the browser's pretended language.
    context = { locale: "ja-JP", ...context };
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:${width}px;height:${height}px;border:0;display:block`;
    const follow = !context.containerDimensions?.height;
    const bridge = new AppBridge(capabilities.serverTools ? this.client : null, { name: "a host", version: "1" }, capabilities, { hostContext: context });
    this.bridge = bridge;
    const note = (kind) => (params) => { this.seen.push([kind, params]); return {}; };
    const ready = new Promise((resolve) => bridge.addEventListener("initialized", () => resolve()));
    bridge.addEventListener("sizechange", (params) => { this.seen.push(["size", params]); if (follow) frame.style.height = `${params.height}px`; });
    bridge.onopenlink = async (params) => { note("link")(params); return params.url.includes("refused") ? { isError: true } : {}; };
    bridge.onmessage = async (params) => note("message")(params);
    bridge.onupdatemodelcontext = async (params) => note("context")(params);
    bridge.onrequestdisplaymode = async ({ mode }) => {
      this.seen.push(["mode", { mode }]);
      frame.style.cssText = mode === "fullscreen" ? "position:fixed;inset:0;width:100vw;height:100vh;border:0" : `width:${width}px;height:${height}px;border:0`;
      return { mode };
    };
    frame.src = sandbox;
    document.body.append(frame);
    bridge.addEventListener("sandboxready", () => bridge.sendSandboxResourceReady({ html: this.html }));
    addEventListener("message", (event) => { if (event.source === frame.contentWindow && event.data?.method) this.seen.push(["raw", event.data.method, event.data.params?.name]); }, { signal });
    if (before) addEventListener("message", (event) => { if (event.data?.method === "ui/initialize") for (const message of before) frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*"); }, { signal });
    await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
    await ready;
  },

  /** Calls a tool as a model would, and hands the view what was asked and what came of it. */
  async play(name, given, change = null) {
    this.bridge.setHostContext({ ...this.bridge._hostContext, toolInfo: { tool: this.tools.find((tool) => tool.name === name) } });
    await this.bridge.sendToolInput({ arguments: given });
    const result = await this.client.callTool({ name, arguments: given });
    const sent = change ? new Function("result", `${change}; return result;`)(structuredClone(result)) : result;
    await this.bridge.sendToolResult(sent);
  },

  async call(name, given) { return this.client.callTool({ name, arguments: given }); },
  async deliver(result) { await this.bridge.sendToolResult(result); },
  async input(given) { await this.bridge.sendToolInput({ arguments: given }); },
  async cancel() { await this.bridge.sendToolCancelled({ reason: "the reader" }); },
  context(change) { this.bridge.setHostContext({ ...this.bridge._hostContext, ...change }); },
  async end() { return this.bridge.teardownResource({}); },
};
