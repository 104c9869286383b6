import io.netty.channel.Channel;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What was connected and asked for, in the words of dragstrip.model.visit (Connection, Served).
 * Times are microseconds of the Unix epoch. Belongs to the event loop.
 */
final class Log {
    static final class Connection {
        final int id;
        final int clientPort;
        final long tUs = now();
        String protocol;
        String host;
        boolean resumed;
        String error = "";

        Connection(int id, int clientPort) {
            this.id = id;
            this.clientPort = clientPort;
        }
    }

    static final class Request {
        final long tUs = now();
        final String host;
        final String method;
        final String url;
        final String protocol;
        final int connection;
        final int clientPort;
        final boolean resumed;
        final boolean early = false;
        final String match = "miss"; // whoever asks the origin knows better
        long endUs;
        int status;
        long bodyBytes;

        Request(Connection on, String method, String host, String path) {
            this.host = on.host;
            this.method = method;
            this.url = "https://" + host.replaceFirst(":443$", "") + path;
            this.protocol = on.protocol;
            this.connection = on.id;
            this.clientPort = on.clientPort;
            this.resumed = on.resumed;
        }

        /** The last byte was handed to the kernel. */
        void ended() {
            endUs = now();
        }
    }

    private final Map<Channel, Connection> open = new LinkedHashMap<>();
    private List<Connection> connections = new ArrayList<>();
    private List<Request> requests = new ArrayList<>();
    private int last;

    static long now() {
        return ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    }

    /** A TCP connection, until it closes; before its handshake has ended it is in no log. */
    Connection accepted(Channel channel) {
        int port = ((InetSocketAddress) channel.remoteAddress()).getPort();
        Connection known = new Connection(++last, port);
        open.put(channel, known);
        channel.closeFuture().addListener(closed -> gone(channel));
        return known;
    }

    private void gone(Channel channel) {
        Connection known = open.remove(channel);
        if (known != null && known.protocol == null) {
            if (known.error.isEmpty()) {
                known.error = "closed during the handshake";
            }
            connections.add(known);
        }
    }

    /** The handshake ended well. */
    void connected(Connection known, String protocol, boolean resumed) {
        known.protocol = protocol;
        known.resumed = resumed;
        connections.add(known);
    }

    /** Forget every connection; returns their channels. */
    List<Channel> forget() {
        List<Channel> forgotten = List.copyOf(open.keySet());
        forgotten.forEach(this::gone);
        return forgotten;
    }

    Request request(Connection on, String method, String host, String path) {
        Request asked = new Request(on, method, host, path);
        requests.add(asked);
        return asked;
    }

    List<Connection> connections() {
        return connections;
    }

    Map<String, Object> take() {
        Map<String, Object> taken = new LinkedHashMap<>();
        taken.put("requests", requests);
        taken.put("connections", connections);
        requests = new ArrayList<>();
        connections = new ArrayList<>();
        return taken;
    }
}
