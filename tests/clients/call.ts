// Calls a running server with the types that openapi-typescript made of its description.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

declare const process: { argv: string[] };
const client = createClient<paths>({ baseUrl: process.argv[2] });

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const listed = await client.GET("/v1/tools", { params: { query: { limit: 2, page: 1 } } });
must(listed.data?.tools.length === 2 && listed.data.pagination.total === 5, "the tools are listed");

const shown = await client.GET("/v1/tools/{name}", { params: { path: { name: "get_poem" } } });
must(shown.data?.parameters[0]?.name === "round_title", "a tool is shown");

const poem = await client.POST("/v1/tools/call", {
  body: { name: "get_poem", parameters: { round_title: "第1回", rank: 1 }, options: { raw: true } },
});
const entry = poem.data?.result as components["schemas"]["Data_get_poem"];
must(entry.rank === 1 && entry.picture?.rendition === "large" && entry.poem.length > 0, "a poem as data");

const search = await client.POST("/v1/tools/call", {
  body: { name: "search_poems", parameters: { query: "花", limit: 1 } },
});
const result = search.data?.result as components["schemas"]["McpResult"];
const hits = result.structuredContent as components["schemas"]["Data_search_poems"];
must(result.content[0]?.type === "text" && hits.hits[0]?.marked?.text === "花", "a search as text and data");

const found = await client.POST("/v1/tools/search", { body: { query: "ranking" } });
must(found.data?.results[0]?.name === "get_wakashu_ranking", "a tool is found");

const health = await client.GET("/health");
must(health.data?.ready === true && health.data.index.state === "READY", "health");

const missing = await client.POST("/v1/tools/call", {
  body: { name: "get_poem", parameters: { round_title: "第99回", rank: 1 } },
});
// A host that is not served is told so in plain text.
const error = typeof missing.error === "object" ? missing.error : undefined;
must(error?.code === "NOT_FOUND" && error.details.resourceType === "round", "an error");
console.log("openapi-typescript: ok");
