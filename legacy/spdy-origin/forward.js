'use strict'
// Every answer comes from dragstrip-origin over its Unix socket, so that what is served, and by
// which rules, is the same for all servers (docs/explanation/replay.md).

const http = require('http')

const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity })

/** Headers that belong to one connection (RFC 9110 section 7.6.1), not to what it carries. */
const OF_CONNECTION = ['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']

/**
 * Answer one request: `start(status, headers)` begins the answer, whose body is written to `to`.
 * `entry` is the request's line of the log, which it completes.
 */
exports.forward = function (socketPath, entry, headers, body, to, start) {
  const asked = http.request({
    socketPath,
    agent,
    method: entry.method,
    path: entry.path,
    headers: of(headers)
  })
  asked.on('response', (answered) => {
    entry.status = answered.statusCode
    start(answered.statusCode, of(answered.headers))
    answered.on('data', (chunk) => { entry.body_bytes += chunk.length })
    answered.pipe(to)
  })
  asked.on('error', () => to.destroy())
  to.on('finish', () => entry.ended())
  to.on('close', () => asked.destroy())
  body.pipe(asked)
}

function of (headers) {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => !OF_CONNECTION.includes(name.toLowerCase())))
}
