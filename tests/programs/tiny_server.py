"""A server that a user might bring: HTTP/1.1 over TLS from a document root, by Python's own
library.

python tiny_server.py CONFIG [--lie | --die-at PATH | --mute | --wait SECONDS]
"""

import http.server
import json
import os
import socketserver
import ssl
import sys
import threading
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit


def handler(config, options):
    class Pages(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = unquote(urlsplit(self.path).path)
            if "--die-at" in options and path == options[options.index("--die-at") + 1]:
                sys.stderr.write("tiny server: out of luck\n")
                sys.stderr.flush()
                os._exit(3)
            if "--wait" in options:
                time.sleep(float(options[options.index("--wait") + 1]))
            host = self.headers["Host"].partition(":")[0]
            file = Path(config["roots"], host, path.lstrip("/") or "index.html")
            body = file.read_bytes() if file.is_file() else b"no"
            if "--lie" in options and path != "/":
                body = body[:-1] + b"!"
            self.send_response(200 if file.is_file() else 404)
            kind = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
            self.send_header("Content-Type", kind.get(file.suffix, "application/octet-stream"))
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *told):
            pass

    return Pages


class Quick(http.server.ThreadingHTTPServer):
    def server_bind(self):
        socketserver.TCPServer.server_bind(self)  # HTTPServer's asks for the host's full name
        self.server_name, self.server_port = self.server_address


def main():
    config, options = json.loads(Path(sys.argv[1]).read_text()), sys.argv[2:]
    if "--mute" in options:
        sys.exit("tiny server: no licence")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(config["certificate"], config["key"])
    context.set_alpn_protocols(["http/1.1"])
    for address in config["addresses"]:
        server = Quick((address, config["port"]), handler(config, options))
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        threading.Thread(target=server.serve_forever).start()


main()
