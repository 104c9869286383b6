import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.sun.management.OperatingSystemMXBean;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoop;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioChannelOption;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpDecoderConfig;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.StandardSocketOptions;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * SPDY/3.1, HTTP/2 or HTTP/1.1 over TLS 1.2, by Netty's codecs, before dragstrip-origin.
 *
 * <pre>java @java.options -cp .:* Server CONFIG.json</pre>
 *
 * CONFIG and commands are those of spdy-origin (docs/reference/processes.md), and `warm_up`. The
 * sockets are its own.
 */
public final class Server {
    static final int PORT = 443;
    static final HttpDecoderConfig LONG_HEADERS = new HttpDecoderConfig()
            .setMaxInitialLineLength(1 << 16)
            .setMaxHeaderSize(1 << 16);
    private static final int BACKLOG = 1024;
    private static final Gson JSON = new GsonBuilder()
            .serializeNulls()
            .disableHtmlEscaping()
            .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
            .create();

    private record Config(
            String plain, Map<String, String> hosts, Map<String, Tls.Certificate> certificates) {}

    private record Command(String cmd, String protocol, int requests) {}

    final Log log = new Log();
    final Tls tls;
    private final EventLoop loop = new NioEventLoopGroup(1).next();
    private final Config config;
    private final Path stub;
    private Upstream upstream;
    private String protocol = "h1";

    private Server(Config config, Path stub) {
        this.config = config;
        this.stub = stub;
        this.tls = new Tls(config.certificates);
    }

    public static void main(String[] arguments) throws Exception {
        Path file = Path.of(arguments[0]);
        Config config;
        try (Reader text = Files.newBufferedReader(file)) {
            config = JSON.fromJson(text, Config.class);
        }
        Server server = new Server(config, file.resolveSibling("warm-up.sock"));
        for (String address : config.hosts.keySet()) {
            server.listen(address);
        }
        server.lead(Path.of(config.plain));
        server.obey();
        System.exit(0);
    }

    private void listen(String address) throws Exception {
        new ServerBootstrap()
                .group(loop)
                .channel(NioServerSocketChannel.class)
                .option(NioChannelOption.of(StandardSocketOptions.SO_REUSEPORT), true)
                .option(ChannelOption.SO_BACKLOG, BACKLOG)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childHandler(new Front(this))
                .bind(InetAddress.getByName(address), PORT)
                .sync();
    }

    /** Answers come from this Unix socket from now on. */
    void lead(Path socket) throws Exception {
        loop.submit(() -> {
            if (upstream != null) {
                upstream.close();
            }
            upstream = new Upstream(loop, socket);
        }).sync();
    }

    String protocol() {
        return protocol;
    }

    /** A client's request has arrived; `more` of it follows. */
    Forward ask(Log.Connection on, Stream stream, String method, String path, HttpHeaders headers,
            boolean more) {
        String host = headers.get(HttpHeaderNames.HOST, "");
        Log.Request entry = log.request(on, method, host, path);
        return new Forward(upstream, stream, entry, path, headers, more);
    }

    private void obey() throws IOException {
        System.out.println(JSON.toJson(
                Map.of("ok", true, "ready", "netty-origin", "version", "0.1.0")));
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(answer(line));
        }
    }

    private String answer(String line) {
        try {
            Command command = JSON.fromJson(line, Command.class);
            if (command.cmd.equals("quit")) {
                System.exit(0);
            }
            if (command.cmd.equals("warm_up")) {
                warmUp(command.requests);
            }
            return order(command.cmd, command.protocol);
        } catch (Exception error) {
            return JSON.toJson(Map.of("ok", false, "error", String.valueOf(error.getMessage())));
        }
    }

    private void warmUp(int requests) throws Exception {
        Map.Entry<String, String> first = config.hosts.entrySet().iterator().next();
        new WarmUp(this, first.getKey(), first.getValue()).make(requests, protocol, stub);
        lead(Path.of(config.plain));
    }

    /** The answer of a command as JSON; `asked` is the protocol of `tune`. */
    String order(String name, String asked) {
        return loop.submit(() -> {
            Map<String, Object> answer = new LinkedHashMap<>(Map.of("ok", true));
            answer.putAll(switch (name) {
                case "tune" -> tune(asked);
                case "warm_up" -> Map.of();
                case "close" -> close();
                case "log" -> take();
                case "connections" -> Map.of("connections", log.connections());
                default -> throw new IllegalArgumentException("command not understood: " + name);
            });
            return JSON.toJson(answer);
        }).syncUninterruptibly().getNow();
    }

    /** Sessions are always resumed: the JDK gives tickets to all its clients or to none. */
    private Map<String, Object> tune(String asked) {
        if (!Tls.ALPN.containsKey(asked)) {
            throw new IllegalArgumentException("protocol is one of h1, h2 and spdy, not " + asked);
        }
        protocol = asked;
        return Map.of("protocol", protocol);
    }

    /** By resets, so that nothing is sent again; TLS and SPDY would take their leave first. */
    private Map<String, Object> close() {
        List<Channel> open = log.forget();
        for (Channel channel : open) {
            channel.config().setOption(ChannelOption.SO_LINGER, 0);
            channel.pipeline().firstContext().close();
        }
        return Map.of("tcp", open.size());
    }

    private Map<String, Object> take() {
        Map<String, Object> taken = log.take();
        OperatingSystemMXBean process =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        taken.put("cpu_s", process.getProcessCpuTime() / 1e9);
        return taken;
    }
}
