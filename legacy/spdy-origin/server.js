'use strict'
// SPDY/3.1, HTTP/2 or HTTP/1.1 over TLS 1.2, by the codec of node-spdy, before dragstrip-origin.
//
//     node server.js CONFIG.json
//
// CONFIG: `plain`, the origin's Unix socket; `sockets`, how many listening sockets were inherited
// (from descriptor 3 on); `hosts`, by their addresses; `certificates`, PEM `certificate` and `key`
// by host. Commands are JSON lines as of dragstrip-origin (docs/reference/processes.md): tune,
// close, log, connections, quit.

const crypto = require('crypto')
const fs = require('fs')
const http = require('http')
const net = require('net')
const readline = require('readline')
const tls = require('tls')
const transport = require('spdy-transport')

const { forward } = require('./forward')
const { Log } = require('./log')
const { version } = require('./package.json')

const FIRST_SOCKET = 3
const ALPN = { h1: 'http/1.1', h2: 'h2', spdy: 'spdy/3.1' }
const SPDY = 3.1

const config = JSON.parse(fs.readFileSync(process.argv[2]))
const contexts = new Map(
  Object.entries(config.certificates).map(([host, { certificate, key }]) => [
    host, tls.createSecureContext({ cert: certificate, key })])
)
const tickets = crypto.randomBytes(48) // one set of keys for good, so sessions outlive `tune`
const log = new Log()
const clear = http.createServer((request, response) => {
  const start = (status, headers) => {
    response.sendDate = false
    response.writeHead(status, headers)
  }
  answer(request.socket.known, request.method, request.url, request.headers, request, response, start)
})
clear.keepAliveTimeout = clear.requestTimeout = clear.headersTimeout = 0 // the client decides

let accept = () => {}

function answer (known, method, path, headers, body, to, start) {
  forward(config.plain, log.request(known, method, path, headers), headers, body, to, start)
}

const commands = {
  tune ({ protocol, resumption }) {
    if (!ALPN[protocol]) throw new Error(`protocol is one of ${Object.keys(ALPN)}, not ${protocol}`)
    const server = tls.createServer({
      ALPNProtocols: [ALPN[protocol]],
      minVersion: 'TLSv1.2',
      maxVersion: 'TLSv1.2',
      secureOptions: resumption ? 0 : crypto.constants.SSL_OP_NO_TICKET,
      ticketKeys: tickets,
      SNICallback: (host, choose) => choose(null, contexts.get(host.toLowerCase()))
    })
    server.on('secureConnection', (socket) => speak(socket, protocol))
    server.on('tlsClientError', (error, socket) => log.failed(socket.remotePort, error))
    accept = (socket) => server.emit('connection', socket)
    return { protocol, resumption }
  },
  close () {
    const open = log.forget()
    for (const socket of open) {
      socket.resetAndDestroy() // a reset, so that nothing is sent again into the next visit
      socket.destroy() // at once, not when all has been sent
    }
    return { tcp: open.length }
  },
  log: () => ({ ...log.take(), cpu_s: cpuSeconds() }),
  connections: () => ({ connections: log.connections() })
}

function speak (socket, protocol) {
  // Of a resumed session Node does not say the name that was asked for.
  const known = log.connected(socket, protocol, socket.servername || config.hosts[socket.localAddress])
  if (protocol === 'h1') {
    socket.known = known
    clear.emit('connection', socket)
    return
  }
  const spdy = protocol === 'spdy'
  const connection = transport.connection.create(socket, {
    protocol: spdy ? 'spdy' : 'http2',
    isServer: true
  })
  if (spdy) connection.start(SPDY) // h2 begins with the client's preface
  connection.on('error', () => socket.destroy())
  connection.on('stream', (stream) => {
    stream.on('error', () => {}) // the client may cancel what it asked for
    const headers = Object.fromEntries(
      Object.entries(stream.headers).filter(([name]) => !name.startsWith(':')))
    headers.host = stream.host
    const start = (status, answered) => stream.respond(status, answered)
    answer(known, stream.method, stream.path, headers, stream, stream, start)
  })
}

function cpuSeconds () {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

async function obey (line) {
  try {
    const { cmd, ...fields } = JSON.parse(line)
    if (cmd === 'quit') process.exit()
    if (!commands[cmd]) throw new Error(`command not understood: ${cmd}`)
    return { ok: true, ...await commands[cmd](fields) }
  } catch (error) {
    return { ok: false, error: error.message }
  }
}

function say (answer) {
  process.stdout.write(JSON.stringify(answer) + '\n')
}

for (let fd = FIRST_SOCKET; fd < FIRST_SOCKET + config.sockets; fd++) {
  net.createServer({ noDelay: true }, (socket) => {
    log.accepted(socket)
    accept(socket)
  }).listen({ fd })
}
say({ ok: true, ready: 'spdy-origin', version })

let turn = Promise.resolve()
readline.createInterface({ input: process.stdin })
  .on('line', (line) => { turn = turn.then(async () => say(await obey(line))) })
  .on('close', () => process.exit())
