// A static host as GitHub Pages is one: a folder below a path, its index for folders, a redirect where the slash is missing.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";

const TYPES = { ".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".xml": "application/xml", ".json": "application/json", ".webp": "image/webp", ".png": "image/png", ".jpg": "image/jpeg", ".gif": "image/gif" };

export async function hosted(folder, below) {
  const server = http.createServer((request, response) => {
    const asked = decodeURIComponent(new URL(request.url, "http://host").pathname);
    const file = asked.startsWith(below) ? path.join(folder, asked.slice(below.length)) : null;
    const stat = file && fs.statSync(file, { throwIfNoEntry: false });
    if (stat?.isDirectory() && !asked.endsWith("/")) {
      response.writeHead(301, { Location: `${encodeURI(asked)}/` }).end();
      return;
    }
    const found = stat?.isDirectory() ? path.join(file, "index.html") : file;
    const exists = found && fs.statSync(found, { throwIfNoEntry: false })?.isFile();
    const sent = exists ? found : path.join(folder, "404.html");
    response.writeHead(exists ? 200 : 404, { "Content-Type": TYPES[path.extname(sent)] ?? "application/octet-stream" });
    fs.createReadStream(sent).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${server.address().port}${below}`, close: () => { server.closeAllConnections(); server.close(); } };
}
