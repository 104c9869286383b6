// Round trip and rate of fetch and of a WebSocket, measured by a page.
async ([web, sockets, bytes]) => {
  const least = async (once) => {
    const trips = [];
    for (let i = 0; i < 6; i++) {
      const began = performance.now();
      await once();
      if (i > 0) trips.push(performance.now() - began);
    }
    return Math.min(...trips);
  };
  const rated = (read) => {
    let got = 0, first = 0, firstAt = 0;
    return (length) => {
      got += length;
      if (!first && got >= bytes / 3) { first = got; firstAt = performance.now(); }
      return got < bytes ? 0 : (got - first) * 8 / (performance.now() - firstAt) / 1000;
    };
  };
  const fetched = await least(async () => (await fetch(`${web}/1`)).arrayBuffer());
  const reader = (await fetch(`${web}/${bytes}`)).body.getReader();
  const fetchRate = rated();
  let fetchMbps = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    fetchMbps = fetchRate(value.length);
  }
  const socket = new WebSocket(sockets);
  socket.binaryType = "arraybuffer";
  await new Promise((ready) => (socket.onopen = ready));
  const answered = await least(() => new Promise((heard) => {
    socket.onmessage = heard;
    socket.send("ping");
  }));
  const socketRate = rated();
  const socketMbps = await new Promise((over) => {
    socket.onmessage = ({ data }) => {
      const mbps = socketRate(data.byteLength);
      if (mbps) over(mbps);
    };
    socket.send(String(bytes));
  });
  return {
    fetch: { round_trip_ms: fetched, mbps: fetchMbps },
    socket: { round_trip_ms: answered, mbps: socketMbps },
  };
}
