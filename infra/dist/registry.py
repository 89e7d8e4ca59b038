"""Package indexes on loopback that have nothing but our packages: PyPI's simple interface below /simple, npm's at the root.

    infra/dist/registry.py FOLDER      prints its address and serves until its input ends
"""

import json
import sys
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


def npm_packages(folder, base):
    """Returns what npm is told of each package, by name."""
    found = {}
    for path in folder.glob("*.tgz"):
        with tarfile.open(path) as package:
            manifest = json.load(package.extractfile("package/package.json"))
        version = manifest["version"]
        manifest["dist"] = {"tarball": f"{base}/files/{path.name}"}
        found[manifest["name"]] = {
            "name": manifest["name"],
            "dist-tags": {"latest": version},
            "versions": {version: manifest},
        }
    return found


def main(folder):
    class Index(BaseHTTPRequestHandler):
        def do_GET(self):
            path = unquote(self.path).strip("/")
            if path in npm:
                self.answer("application/json", json.dumps(npm[path]).encode())
            elif path == "simple/wakashu":
                links = "".join(f'<a href="/files/{each.name}">{each.name}</a>\n' for each in sorted(folder.glob("*.whl")))
                self.answer("text/html", links.encode())
            elif path.startswith("files/") and (folder / Path(path).name).is_file():
                self.answer("application/octet-stream", (folder / Path(path).name).read_bytes())
            else:
                self.send_error(404)

        def answer(self, media, body):
            self.send_response(200)
            self.send_header("Content-Type", media)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    base = f"http://127.0.0.1:{server.server_port}"
    npm = npm_packages(folder, base)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(base, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
