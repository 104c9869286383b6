'use strict'
// What was connected and asked for, in the words of dragstrip.model.visit (Connection, Served).

/** Microseconds of the Unix epoch. */
const now = () => Math.round((performance.timeOrigin + performance.now()) * 1000)

exports.Log = class {
  #sockets = new Map()
  #connections = []
  #requests = []
  #number = 0

  /** A TCP connection, until it closes; before its handshake has ended it is in no log. */
  accepted (socket) {
    const port = socket.remotePort
    const known = {
      id: ++this.#number,
      protocol: null,
      host: null,
      client_port: port,
      t_us: now(),
      resumed: false,
      error: ''
    }
    this.#sockets.set(port, { socket, known })
    socket.on('error', () => {}) // a client that leaves is no fault of ours
    socket.on('close', () => this.#gone(port))
  }

  #gone (port) {
    const { known } = this.#sockets.get(port) || {}
    if (!this.#sockets.delete(port) || known.protocol) return
    this.#connections.push({ ...known, error: known.error || 'closed during the handshake' })
  }

  /** Forget every connection; returns their sockets. Some never say `close`, so none is waited for. */
  forget () {
    const open = [...this.#sockets].map(([port, { socket }]) => ({ port, socket }))
    open.forEach(({ port }) => this.#gone(port))
    return open.map(({ socket }) => socket).filter((socket) => !socket.destroyed)
  }

  /** The handshake of `tls` with `host` ended well; returns what is known of the connection. */
  connected (tls, protocol, host) {
    const { known } = this.#sockets.get(tls.remotePort)
    this.#connections.push(Object.assign(known, {
      protocol, host, resumed: tls.isSessionReused()
    }))
    return known
  }

  failed (port, error) {
    const entry = this.#sockets.get(port)
    if (entry) entry.known.error = error.message
  }

  /** A line of the request log; it is complete when `ended` is called, at the answer's last byte. */
  request (known, method, path, headers) {
    const host = (headers.host || '').replace(/:443$/, '')
    const entry = {
      t_us: now(),
      end_us: 0,
      host: known.host,
      method,
      path,
      url: `https://${host}${path}`,
      protocol: known.protocol,
      connection: known.id,
      client_port: known.client_port,
      resumed: known.resumed,
      early: false,
      status: 0,
      body_bytes: 0,
      match: 'miss',
      ended: () => { entry.end_us = now() }
    }
    this.#requests.push(entry)
    return entry
  }

  connections () {
    return this.#connections
  }

  take () {
    const taken = { requests: this.#requests, connections: this.#connections }
    this.#requests = []
    this.#connections = []
    return taken
  }
}
